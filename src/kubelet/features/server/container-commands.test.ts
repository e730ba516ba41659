import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { createCheckpointFolder, runCommand } from './container-commands.ts';
import { ContainerLookup } from './container-lookup.ts';

const pod = buildPod({ 'metadata.uid': 'u', 'metadata.name': 'web', 'spec.containers[0].name': 'main' });
const target = { namespace: 'default', pod: 'web', uid: '', container: 'main' };

function lookup(state = 'running') {
  const status = {
    ...emptyPodRuntimeStatus({ uid: podUid('u'), name: 'web', namespace: 'default' }, 0),
    containers: [{ id: 'main-0', name: 'main', state }],
  } as unknown as PodRuntimeStatus;
  return new ContainerLookup({
    store: { pods: () => [pod], mirrorOf: () => undefined },
    directory: { visible: () => [] },
    cache: { get: () => status },
  });
}

describe('a command that is run to its end', () => {
  const answering = (exitCode: number) => ({
    execSync: async () => ({ exitCode, stdout: Buffer.from('out '), stderr: Buffer.from('err') }),
  });
  const run = (given: { state?: string; exitCode?: number; uid?: string; pod?: string }) =>
    runCommand(
      { lookup: lookup(given.state), runtime: answering(given.exitCode ?? 0) },
      { ...target, uid: given.uid ?? '', pod: given.pod ?? 'web' },
      ['sh', '-c', 'x'],
    ).then((output) => Buffer.from(output).toString());

  it('gives both outputs, the standard one first', async () => {
    assert.equal(await run({}), 'out err');
    assert.equal(await run({ uid: 'u' }), 'out err');
  });

  it('fails with what it said on the standard error', async () => {
    await assert.rejects(run({ exitCode: 3 }), { message: /^command 'sh -c x' exited with 3: err$/ });
  });

  it('is not run in a pod of another uid or name, or in a container that has ended', async () => {
    const notFound = { message: /^container not found \("main"\)/ };
    await assert.rejects(run({ uid: 'other' }), notFound);
    await assert.rejects(run({ pod: 'other' }), notFound);
    await assert.rejects(run({ state: 'exited' }), notFound);
  });
});

describe('the folder of checkpoints', () => {
  function folder(given: { names?: string[]; state?: string } = {}) {
    const done: string[] = [];
    const checkpoints = createCheckpointFolder({
      lookup: lookup(given.state),
      runtime: { checkpointContainer: async (id, path, timeout) => void done.push(`${id} ${path} ${timeout}`) },
      files: {
        makeDirectory: async (path, mode) => void done.push(`make ${path} ${mode?.toString(8)}`),
        list: async () => given.names ?? Promise.reject(new Error('no such folder')),
        lstat: async (path) => (path.endsWith('gone.tar') ? undefined : ({ sizeBytes: 100 } as never)),
      },
      disk: { diskUsage: async (path) => ({ capacityBytes: path === '/root' ? 1000 : 0, availableBytes: 400 }) },
      rootDir: '/root',
    });
    return { checkpoints, done };
  }

  it('is made for root alone, and the path in it is returned', async () => {
    const { checkpoints, done } = folder();
    assert.equal(await checkpoints.checkpoint({ pod, container: 'main' }, 'a.tar', 5), '/root/checkpoints/a.tar');
    assert.deepEqual(done, ['make /root/checkpoints 700', 'main-0 /root/checkpoints/a.tar 5']);
  });

  it('has no checkpoint of a container that does not run', async () => {
    const { checkpoints } = folder({ state: 'exited' });
    await assert.rejects(checkpoints.checkpoint({ pod, container: 'main' }, 'a.tar', 5), { kind: 'NotFound' });
  });

  it('counts its files, and the room on the disk of the agent', async () => {
    const room = { capacityBytes: 1000, availableBytes: 400 };
    const { checkpoints } = folder({ names: ['a.tar', 'b.tar', 'gone.tar'] });
    assert.deepEqual(await checkpoints.checkpointUse(), { count: 3, bytes: 200, ...room });
    assert.deepEqual(await folder().checkpoints.checkpointUse(), { count: 0, bytes: 0, ...room });
  });
});
