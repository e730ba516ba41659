import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { podUid } from '../../model/ids.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { buildContainerConfig, buildSandboxConfig, runPod } from '../../ports/testing/runtime-builders.ts';
import { ContainerGc } from './container-gc.ts';
import type { GcContainer, CleanupDecision } from './gc-select.ts';
import { selectContainers, selectSandboxes } from './gc-select.ts';

const policy = { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 };

function world(decision: CleanupDecision = 'kept') {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({
    clock,
    images: ['i:1'],
    latencies: {
      runSandbox: 0,
      createContainer: 0,
      startContainer: 0,
      stopSandbox: 0,
      removeSandbox: 20,
      removeContainer: 20,
    },
  });
  const said: string[] = [];
  const swept: { isRemoved: boolean; used: boolean[] }[] = [];
  const sweptAttempts: string[] = [];
  const removedPods: unknown[] = [];
  const state = { decision, ready: true, isOver: false };
  const gc = new ContainerGc({
    ...{
      runtime,
      policy,
      decideCleanup: () => state.decision,
      isOver: () => state.isOver,
      sourcesReady: () => state.ready,
      platform: { clock, random: seededRandom(1), log: recordingLog() },
    },
    logs: {
      removeContainer: async (_pod, { name, attempt }) => void said.push(`log ${name}#${attempt}`),
      removePod: async (uid, pod) => {
        said.push(`logs of ${uid}`);
        removedPods.push(pod);
      },
      sweep: async (isRemoved, isUsed) => {
        said.push('sweep');
        swept.push({ isRemoved: isRemoved(podUid('p')), used: runtime.containers('p').map(({ id }) => isUsed(id)) });
      },
      sweepAttempts: async ({ uid, name, namespace }, containers, attemptsOf) => {
        sweptAttempts.push(
          `${namespace}/${name}/${uid} ${containers.map((each) => `${each}: ${[...attemptsOf(each)].join()}`).join(' ')}`,
        );
      },
    },
    cache: {
      noteContainerRemoved: () => void said.push('container gone'),
      noteSandboxRemoved: () => void said.push('sandbox gone'),
    },
    events: { nodeEvent: (_type, reason, message) => void said.push(`${reason}: ${message}`) },
  });
  const pod = async (attempts: number): Promise<void> => {
    runtime.behaviour('c', (container) => ({ exitAfterMs: container.attempt < attempts - 1 ? 1 : 1_000_000 }));
    const { sandbox } = await runPod(runtime, { uid: 'p' }, []);
    assert.ok(sandbox);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const id = await runtime.createContainer(
        sandbox,
        buildContainerConfig({ uid: 'p' }, { name: 'c', image: 'i:1', attempt }),
        buildSandboxConfig({ uid: 'p' }),
      );
      await runtime.startContainer(id);
      await clock.advance(10);
    }
  };
  const run = async <Result>(work: Promise<Result>): Promise<Result> => {
    await clock.advance(1000);
    return work;
  };
  return { clock, runtime, said, swept, sweptAttempts, removedPods, gc, state, pod, run };
}

describe('container collection', () => {
  it('keeps what runs and the newest dead container of each name', async () => {
    const { gc, pod, run, runtime, said } = world();
    await pod(4);
    await run(gc.collect());
    assert.deepEqual(
      runtime.containers('p').map(({ config, state }) => `${config.attempt} ${state}`),
      ['2 exited', '3 running'],
    );
    assert.deepEqual(
      said.filter((line) => line.startsWith('log ')),
      ['log c#0', 'log c#1'],
    );
  });

  it('removes also the containers of pods that are over, and counts them first, when space is short', async () => {
    const { gc, pod, run, runtime, state } = world();
    await pod(3);
    runtime.killSandbox(runtime.sandboxes('p')[0]?.id ?? '', { withContainers: true });
    state.isOver = true;
    assert.equal(await gc.countUnused(), 3);
    await run(gc.collect());
    assert.equal(runtime.containers('p').length, 1);
    assert.deepEqual([await run(gc.deleteUnused()), await run(gc.deleteUnused())], [1, 0]);
    assert.deepEqual([runtime.containers('p').length, await gc.countUnused()], [0, 0]);
  });

  it('removes nothing that runs when space is short', async () => {
    const { gc, pod, run, runtime, state } = world();
    await pod(1);
    state.isOver = true;
    await run(gc.deleteUnused());
    assert.deepEqual(
      runtime.containers('p').map((container) => container.state),
      ['running'],
    );
  });

  it('takes nothing for removed before all sources have reported', async () => {
    const { gc, pod, run, runtime, state, said } = world('removed');
    state.ready = false;
    await pod(2);
    await run(gc.collect());
    assert.deepEqual([runtime.containers('p').length, said], [2, []]);
  });

  it('checks again whether all sources have reported: the runtime may have gone away while it was listing', async () => {
    const { gc, pod, run, runtime, state } = world('removed');
    await pod(2);
    const work = gc.collect();
    state.ready = false;
    await run(work);
    assert.equal(runtime.containers('p').length, 2);
  });

  it('clears a finished pod at once, its containers in parallel, and leaves what runs', async () => {
    const { gc, pod, clock, runtime, said } = world('removed');
    await pod(4);
    runtime.killSandbox(runtime.sandboxes('p')[0]?.id ?? '', { withContainers: true });
    const startMs = clock.monotonicMs();
    let tookMs = 0;
    const work = gc.collectPod(podUid('p')).then(() => {
      tookMs = clock.monotonicMs() - startMs;
    });
    await clock.advance(1000);
    await work;
    assert.deepEqual(
      [runtime.containers('p').length, runtime.sandboxes('p').length, tookMs, said.at(-1)],
      [0, 0, 40, 'logs of p'],
    );
  });

  it('removes the remains of a deleted pod, with its logs, once all sources have reported', async () => {
    const { gc, pod, run, runtime, said } = world('removed');
    await pod(2);
    runtime.killSandbox(runtime.sandboxes('p')[0]?.id ?? '', { withContainers: true });
    await run(gc.collect());
    assert.deepEqual([runtime.containers('p').length, runtime.sandboxes('p').length], [0, 0]);
    assert.deepEqual(said.toSorted(), [
      'container gone',
      'container gone',
      'log c#0',
      'log c#1',
      'sandbox gone',
      'sweep',
    ]);
  });

  it('lets logs go only of pods that are removed and of containers that have ended', async () => {
    const { gc, pod, run, state, swept } = world();
    await pod(2);
    await run(gc.collect());
    state.decision = 'removed';
    await run(gc.collect());
    assert.deepEqual(swept, [
      { isRemoved: false, used: [false, true] },
      { isRemoved: true, used: [true] },
    ]);
  });

  it('compares the logs of kept pods with their attempts, but not in every pass', async () => {
    const { gc, pod, run, state, sweptAttempts } = world();
    await pod(2);
    await run(gc.collect());
    assert.deepEqual(sweptAttempts, ['default/pod-p/p c: 0,1']);
    await run(gc.collect());
    assert.equal(sweptAttempts.length, 1);
    const other = world('busy');
    await other.pod(2);
    await other.run(other.gc.collect());
    assert.deepEqual(other.sweptAttempts, []);
    assert.equal(state.decision, 'kept');
  });

  it('leaves containers alone that no agent created', async () => {
    const { gc, run, runtime, clock } = world('removed');
    const { sandbox } = await runPod(runtime, { uid: '' }, []);
    assert.ok(sandbox);
    const id = await runtime.createContainer(
      sandbox,
      buildContainerConfig({ uid: '' }, { name: 'c', image: 'i:1', attempt: 0 }),
      buildSandboxConfig({ uid: '' }),
    );
    await runtime.startContainer(id);
    runtime.killSandbox(sandbox, { withContainers: true });
    await clock.advance(10);
    await run(gc.collect());
    assert.equal((await runtime.listContainers()).length, 1);
  });

  it('leaves the logs and the sandbox of a finished pod while one of its containers runs or cannot be removed', async () => {
    const { gc, pod, run, runtime, said } = world('removed');
    await pod(2);
    await run(gc.collectPod(podUid('p')));
    assert.deepEqual([runtime.containers('p').length, runtime.sandboxes('p').length], [1, 1]);
    assert.deepEqual(said, ['container gone']);
    runtime.killSandbox(runtime.sandboxes('p')[0]?.id ?? '', { withContainers: true });
    runtime.fail('removeContainer', { kind: 'Internal', message: 'busy', times: 1 });
    await run(assert.rejects(gc.collectPod(podUid('p')), /failed to remove container c of pod default\/pod-p: busy/));
    assert.deepEqual([runtime.sandboxes('p').length, said.includes('logs of p')], [1, false]);
    await run(gc.collectPod(podUid('p')));
    assert.deepEqual([runtime.sandboxes('p').length, said.at(-1)], [0, 'logs of p']);
  });

  it('clears only the finished pod, and looks up its names where the caller knows none', async () => {
    const { gc, pod, run, runtime, removedPods } = world('removed');
    await pod(2);
    const other = await runPod(runtime, { uid: 'q' }, [{ name: 'c', image: 'i:1' }]);
    for (const { id } of [...runtime.sandboxes('p'), ...runtime.sandboxes('q')])
      runtime.killSandbox(id, { withContainers: true });
    assert.ok(other.sandbox);
    await run(gc.collectPod(podUid('p')));
    assert.deepEqual([runtime.containers('q').length, runtime.sandboxes('q').length], [1, 1]);
    await run(gc.collectPod(podUid('none')));
    const named = { uid: podUid('q'), name: 'known', namespace: 'there' };
    await run(gc.collectPod(podUid('q'), named));
    assert.deepEqual(removedPods, [{ uid: 'p', name: 'pod-p', namespace: 'default' }, undefined, named]);
  });

  it('reports a sandbox that cannot be removed', async () => {
    const { gc, pod, run, runtime } = world('removed');
    await pod(1);
    runtime.killSandbox(runtime.sandboxes('p')[0]?.id ?? '', { withContainers: true });
    runtime.fail('removeSandbox', { kind: 'Internal', message: 'in use', times: 1 });
    await run(assert.rejects(gc.collect(), /failed to remove sandbox of pod default\/pod-p: in use/));
  });

  it('goes on after a failure, reports it once, and retries', async () => {
    const { gc, pod, clock, runtime, said } = world();
    await pod(4);
    runtime.fail('removeContainer', { kind: 'Internal', message: 'busy', times: 3 });
    gc.start();
    await clock.advance(200_000);
    await gc.stop();
    assert.equal(runtime.containers('p').length, 2);
    assert.equal(said.filter((line) => line.startsWith('ContainerGCFailed')).length, 2, 'two different complaints');
  });

  it('never removes what runs, what is busy, or the newest dead one of a pod that stays', () => {
    const container = fc.record({
      podUid: fc.constantFrom('kept', 'removed', 'busy'),
      name: fc.constantFrom('a', 'b'),
      state: fc.constantFrom('created' as const, 'running' as const, 'exited' as const, 'unknown' as const),
      createdAtMs: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(container, { maxLength: 20 }), (facts) => {
        const containers = facts.map(
          (fact, index): GcContainer => ({ ...fact, id: `c${index}`, attempt: index, sandboxId: `s-${fact.podUid}` }),
        );
        const state = { containers, sandboxes: [], decideCleanup: (uid: string) => uid as CleanupDecision };
        const victims = new Set(selectContainers(state, policy, 100));
        for (const one of containers) {
          const dead = containers.filter(
            (other) => other.podUid === one.podUid && other.name === one.name && other.state !== 'running',
          );
          if (one.state === 'running' || one.podUid === 'busy') assert.ok(!victims.has(one));
          else if (one.podUid === 'removed') assert.ok(victims.has(one));
          else
            assert.equal(
              dead.filter((other) => other.state !== 'created' && !victims.has(other)).length,
              dead.some((other) => other.state !== 'created') ? 1 : 0,
            );
        }
      }),
    );
  });

  it('removes a late container that never ran before the record of a run, however new it is', () => {
    const made = (id: string, attempt: number, state: GcContainer['state'], createdAtMs: number): GcContainer => ({
      id,
      podUid: 'p',
      name: 'a',
      attempt,
      sandboxId: 's',
      state,
      createdAtMs,
    });
    const victims = (...containers: GcContainer[]): string[] =>
      selectContainers({ containers, sandboxes: [], decideCleanup: () => 'kept' }, policy, 100).map(({ id }) => id);
    assert.deepEqual(victims(made('ran', 1, 'exited', 10), made('late', 0, 'created', 20)), ['late']);
    assert.deepEqual(victims(made('ran', 1, 'exited', 10), made('next', 2, 'created', 20)), []);
  });

  it('keeps the newest sandbox of a pod, ready ones and those with containers', () => {
    const sandbox = (id: string, pod: string, createdAtMs: number, ready = false) => ({
      id,
      podUid: pod,
      createdAtMs,
      ready,
    });
    const sandboxes = [
      sandbox('old', 'kept', 1),
      sandbox('used', 'kept', 2),
      sandbox('new', 'kept', 3),
      sandbox('x', 'removed', 1),
      sandbox('y', 'removed', 2, true),
      sandbox('z', 'busy', 1),
      sandbox('w', 'busy', 2),
    ];
    const containers: GcContainer[] = [
      { id: 'c', podUid: 'kept', name: 'a', attempt: 0, sandboxId: 'used', state: 'exited', createdAtMs: 1 },
    ];
    assert.deepEqual(
      selectSandboxes({ containers, sandboxes, decideCleanup: (uid) => uid as CleanupDecision }, new Set()).map(
        ({ id }) => id,
      ),
      ['old', 'x'],
    );
  });

  it('shares a node-wide limit fairly before it goes by age', () => {
    const unit = (name: string, count: number, from: number): GcContainer[] =>
      Array.from({ length: count }, (_, index) => ({
        id: `${name}${index}`,
        podUid: name,
        name,
        attempt: index,
        sandboxId: 's',
        state: 'exited',
        createdAtMs: from + index,
      }));
    const containers = [...unit('a', 4, 10), ...unit('b', 1, 0)];
    const removed = selectContainers(
      { containers, sandboxes: [], decideCleanup: () => 'kept' },
      { ...policy, maxPerContainer: -1, maxTotal: 3 },
      100,
    ).map(({ id }) => id);
    assert.deepEqual(removed, ['a0', 'a1', 'a2']);
  });
});
