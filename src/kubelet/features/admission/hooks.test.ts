import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Node } from '../../../api/core/node.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeProcesses } from '../../ports/testing/fake-processes.ts';
import type { AdmissionAnswer } from './admission-step.ts';
import { holdUntilFile } from './testing/hold-until-file.ts';
import { readHookAnswer } from './hook-answer.ts';
import { createHookStep } from './hook-folder.ts';

const node: Node = { metadata: { name: 'n1', namespace: '', uid: '' } };
const request = { pod: buildPod(), node, attempt: 2, sinceMs: 0 };

async function harness(onFailure: 'hold' | 'ignore' = 'hold') {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const processes = new FakeProcesses();
  await files.makeDirectory('/hooks', 0o755);
  const install = async (
    name: string,
    answer: Parameters<FakeProcesses['install']>[1],
    mode = 0o755,
  ): Promise<void> => {
    await files.writeFile(`/hooks/${name}`, '', mode);
    processes.install(`/hooks/${name}`, answer);
  };
  const step = createHookStep({ folder: '/hooks', timeoutMs: 5000, onFailure, files, processes, clock });
  const stop = new AbortController();
  const ask = async (): Promise<AdmissionAnswer> => step.admit(request, stop.signal);
  return { clock, files, processes, install, ask, stop };
}

describe('admission hooks', () => {
  it('admit when there are none, and when all of them admit, in the order of their names', async () => {
    const { ask, install, processes } = await harness();
    assert.deepEqual(await ask(), { kind: 'admit' });
    await install('20-b', () => ({}));
    await install('10-a', () => ({ stdout: '{"decision":"admit"}' }));
    assert.deepEqual(
      [await ask(), processes.runs.map(({ program }) => program)],
      [{ kind: 'admit' }, ['/hooks/10-a', '/hooks/20-b']],
    );
  });

  it('get the pod and the node', async () => {
    const { ask, install, processes } = await harness();
    await install('a', () => ({}));
    await ask();
    const [run] = processes.runs;
    const { kind, request: asked } = JSON.parse(run?.stdin ?? '') as {
      kind: string;
      request: {
        pod: { metadata: { name: string } };
        node: { metadata: { name: string } };
        attempt: number;
        waitingSince: string;
      };
    };
    assert.deepEqual(
      [kind, asked.pod.metadata.name, asked.node.metadata.name, asked.attempt, asked.waitingSince],
      ['PodAdmission', 'web', 'n1', 2, '1970-01-01T00:00:00.000Z'],
    );
    assert.deepEqual(run?.env, { POD_NAME: 'web', POD_NAMESPACE: 'default', POD_UID: 'uid-1', NODE_NAME: 'n1' });
  });

  it('that hold or reject are the last to be called', async () => {
    const { ask, install, processes } = await harness();
    await install('a', () => ({ exitCode: 75, stderr: 'no driver yet\nmore' }));
    await install('b', () => ({}));
    assert.deepEqual(await ask(), { kind: 'hold', why: 'a: no driver yet' });
    await install('a', () => ({ stdout: '{"decision":"reject","reason":"NoGpu","message":"none here"}' }));
    assert.deepEqual(
      [await ask(), processes.runs.length],
      [{ kind: 'reject', reason: 'NoGpu', message: 'none here' }, 2],
    );
  });

  it('hold by failing, unless failures are ignored', async () => {
    for (const onFailure of ['hold', 'ignore'] as const) {
      const { ask, install, processes } = await harness(onFailure);
      await install('a', () => ({ exitCode: 3, stderr: 'boom' }));
      await install('b', () => ({}));
      const expected = onFailure === 'hold' ? { kind: 'hold', why: 'a: failed: exit code 3: boom' } : { kind: 'admit' };
      assert.deepEqual(await ask(), expected);
      processes.fail('/hooks/a', 'Timeout', 'took too long');
      assert.deepEqual(
        await ask(),
        onFailure === 'hold' ? { kind: 'hold', why: 'a: failed: took too long' } : { kind: 'admit' },
      );
    }
  });

  it('are not run when they are hidden or not executable', async () => {
    const { ask, install, processes } = await harness();
    for (const name of ['.hidden', 'backup~']) await install(name, () => ({}));
    await install('plain', () => ({}), 0o644);
    assert.deepEqual([await ask(), processes.runs], [{ kind: 'admit' }, []]);
  });

  it('admit nothing when their folder is missing, or when one of them is writable by others', async () => {
    const { ask, install, processes, files } = await harness();
    await install('open', () => ({}), 0o777);
    await assert.rejects(ask(), /\/hooks\/open is not run: it is writable by its group or by others/);
    await files.removeTree('/hooks');
    await assert.rejects(ask(), /\/hooks does not exist or is not a folder/);
    assert.deepEqual(processes.runs, []);
  });

  it('may name files whose change ends the hold at once', async () => {
    const { ask, install, files, clock } = await harness();
    await files.makeDirectory('/run/node', 0o755);
    await install('a', () => ({
      stdout: '{"decision":"hold","message":"w","watch":["/run/node/ready","/nowhere/x"],"retryAfterSeconds":20}',
    }));
    const answer = await ask();
    assert.ok(answer.kind === 'hold' && answer.until !== undefined && answer.retryAfterMs === 20_000);
    let isOver = false;
    void answer.until.then(() => (isOver = true));
    await files.writeFile('/run/node/other', '', 0o644);
    await clock.advance(0);
    assert.equal(isOver, false);
    await files.writeFile('/run/node/ready', '', 0o644);
    await clock.advance(0);
    assert.equal(isOver, true);
  });

  it('run four at a time at most', async () => {
    const { ask, install } = await harness();
    const waiting: (() => void)[] = [];
    await install('a', () => new Promise((resolve) => waiting.push(() => resolve({}))));
    const asked = Array.from({ length: 6 }, ask);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(waiting.length, 4);
    waiting.splice(0, 2).forEach((end) => end());
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(waiting.length, 4);
    waiting.forEach((end) => end());
    await Promise.all(asked);
  });

  it('must give a valid answer', () => {
    const wrong = (stdout: string) => {
      try {
        return readHookAnswer({ exitCode: 0, stdout, stderr: '' });
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.match(String(wrong('yes')), /its output is not JSON: yes/);
    assert.match(String(wrong('[]')), /not a JSON object/);
    assert.match(String(wrong('{"decision":"maybe"}')), /"decision" must be admit, reject or hold, not "maybe"/);
    assert.match(String(wrong('{"decision":"hold","watch":"x"}')), /"watch" must be a list of absolute paths/);
    assert.match(
      String(wrong('{"decision":"hold","retryAfterSeconds":0}')),
      /"retryAfterSeconds" must be a number above 0/,
    );
    assert.deepEqual(wrong('{"decision":"reject","reason":"two words"}'), {
      kind: 'reject',
      reason: 'AdmissionHookRejected',
      message: 'rejected by an admission hook of this node',
    });
  });
});

describe('the example step', () => {
  it('holds matching pods until the file exists, and never holds others', async () => {
    const clock = new FakeClock();
    const files = new FakeHostFiles(clock);
    await files.makeDirectory('/run', 0o755);
    const step = holdUntilFile({
      path: '/run/node-ready',
      files,
      appliesTo: (pod) => pod.metadata.labels?.['free'] === undefined,
    });
    const stop = new AbortController();
    const ask = async (changes = {}): Promise<AdmissionAnswer> =>
      step.admit({ ...request, pod: buildPod(changes) }, stop.signal);
    assert.deepEqual(await ask({ 'metadata.labels': { free: 'yes' } }), { kind: 'admit' });
    const held = await ask();
    assert.ok(held.kind === 'hold' && held.why === 'waits until /run/node-ready is there');
    await files.writeFile('/run/node-ready', '', 0o644);
    await held.until;
    assert.deepEqual(await ask(), { kind: 'admit' });
  });
});
