import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { ContainerLookup } from './container-lookup.ts';
import { createLocalCommands } from './local-commands.ts';
import { parseLogQuery } from './log-query.ts';

const pod = buildPod({
  'metadata.uid': 'u',
  'metadata.name': 'web',
  'spec.containers[0].name': 'main',
  'spec.containers[1]': { name: 'side', image: 'busybox:1.36' },
});
const query = parseLogQuery(new URLSearchParams());

function commands({ state = 'running', status }: { state?: string; status?: PodStatus } = {}) {
  const runtimeStatus = {
    ...emptyPodRuntimeStatus({ uid: podUid('u'), name: 'web', namespace: 'default' }, 0),
    containers: ['main', 'side'].map((name) => ({ id: `${name}-0`, name, state })),
  } as unknown as PodRuntimeStatus;
  const asked: unknown[] = [];
  const cache = { get: () => runtimeStatus };
  const made = createLocalCommands({
    lookup: new ContainerLookup({
      store: { pods: () => [pod], mirrorOf: () => undefined },
      directory: { visible: (): Pod[] => [] },
      cache,
    }),
    cache,
    statuses: { get: () => status },
    runtime: {
      execUrl: async (request) => {
        asked.push(request);
        return `url of ${request.id}`;
      },
    },
    logs: {
      read: async (target) => {
        asked.push(target);
        return (async function* () {})();
      },
    },
  });
  const log = (container: string, name = 'web') =>
    made.containerLog({ namespace: 'default', pod: name, container }, query, new AbortController().signal);
  const exec = (container: string, tty = false, name = 'web') =>
    made.exec({ namespace: 'default', pod: name, container }, { command: ['sh'], tty, stdin: true });
  return { log, exec, asked, runtimeStatus };
}

describe('a command in a container', () => {
  it('runs in the named container, and in the first one when none is named', async () => {
    const { exec } = commands();
    assert.deepEqual([await exec('side'), await exec('')], ['url of side-0', 'url of main-0']);
  });

  it('has a standard error of its own unless it has a terminal', async () => {
    const { exec, asked } = commands();
    await exec('main');
    await exec('main', true);
    const expected = { id: 'main-0', command: ['sh'], stdin: true, stdout: true };
    assert.deepEqual(asked, [
      { ...expected, tty: false, stderr: true },
      { ...expected, tty: true, stderr: false },
    ]);
  });

  it('is refused where the pod does not exist, and where the container does not run or is not in its spec', async () => {
    const notFound = (message: string) => ({ kind: 'NotFound', message });
    await assert.rejects(commands().exec('main', false, 'other'), notFound('pod "other" does not exist'));
    const notRunning = notFound('container "main" of pod default/web is not running');
    await assert.rejects(commands({ state: 'exited' }).exec(''), notRunning);
    await assert.rejects(commands().exec('foreign'), notFound('container "foreign" of pod default/web is not running'));
  });
});

describe('a container log', () => {
  it('is read with what the runtime has of the pod, and why the container waits', async () => {
    const waiting = (name: string, reason: string) => ({
      name,
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason } },
    });
    const status: PodStatus = {
      initContainerStatuses: [waiting('main', 'CrashLoopBackOff')],
      containerStatuses: [waiting('side', 'ErrImagePull')],
      ephemeralContainerStatuses: [],
    };
    for (const given of [status, undefined]) {
      const { log, asked, runtimeStatus } = commands({ status: given });
      await log('main');
      await log('side');
      const base = { pod: { uid: 'u', name: 'web', namespace: 'default' }, runtime: runtimeStatus };
      assert.deepEqual(asked, [
        { ...base, container: 'main', waitingReason: given && 'CrashLoopBackOff' },
        { ...base, container: 'side', waitingReason: given && 'ErrImagePull' },
      ]);
    }
  });

  it('does not exist for a pod or a container that does not', async () => {
    const { log, asked } = commands();
    await assert.rejects(log('main', 'other'), { kind: 'NotFound', message: 'pod "other" does not exist' });
    await assert.rejects(log('other'), { kind: 'NotFound', message: 'container "other" not found in pod "web"' });
    await assert.rejects(log(''), { kind: 'NotFound' });
    assert.deepEqual(asked, []);
  });
});
