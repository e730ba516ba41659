import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import { podUid } from '../../../model/ids.ts';
import type { PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../../model/runtime-status.ts';
import { computeKillSpec } from './kill-grace.ts';
import { aContainer, aPod, aRun, aStatus } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';
import { computeTerminationOrder } from '../plan/termination-order.ts';

const side = (name: string): ReturnType<typeof aContainer> => aContainer(name, { restartPolicy: 'Always' });
const withSidecars = aPod({
  initContainers: [side('side'), aContainer('i1'), side('s2')],
  containers: [aContainer('app'), aContainer('log')],
});
const preStop = { lifecycle: { preStop: { exec: { command: ['drain'] } } } };

/** Returns when each process ended, relative to the start of the kill. */
function ends(h: Harness, sinceMs: number): string[] {
  return h.runtime.journal.processes
    .filter(({ what, atMs }) => what === 'exited' && atMs >= sinceMs)
    .map(({ atMs, name, exitCode }) => `${atMs - sinceMs} ${name} ${exitCode}`);
}

async function running(pod: Pod, script: (h: Harness) => void = () => {}): Promise<{ h: Harness; beganMs: number }> {
  const h = new Harness();
  script(h);
  await h.sync(pod);
  h.events.length = 0;
  h.notices.length = 0;
  h.runtime.journal.clear();
  return { h, beganMs: h.clock.monotonicMs() };
}

test('regular containers end first, then sidecars from the last to the first', () => {
  assert.deepEqual(
    [...computeTerminationOrder(withSidecars, ['app', 'log', 'side', 's2'])],
    [
      ['s2', ['app', 'log']],
      ['side', ['app', 'log', 's2']],
    ],
  );
  assert.deepEqual(
    [...computeTerminationOrder(withSidecars, ['log', 'side'])],
    [
      ['s2', ['log']],
      ['side', ['log']],
    ],
  );
});

describe('grace', () => {
  const probe = (seconds: number): NonNullable<Pod['spec']['containers'][number]['livenessProbe']> => ({
    terminationGracePeriodSeconds: seconds,
  });
  const pod = aPod({ containers: [aContainer('app', { livenessProbe: probe(5), startupProbe: probe(3) })] });
  const spec = (
    subject: Pod | undefined,
    reason: Parameters<typeof computeKillSpec>[3] = 'Unknown',
    annotations: Record<string, string> = {},
  ): number => computeKillSpec(subject, aStatus(), aRun('app', 'running', { annotations }), reason).graceMs;

  test("is the pod's; a probe's own grace replaces it for that probe's kills, and the grace of a deletion replaces both", () => {
    assert.deepEqual([spec(pod), spec(pod, 'LivenessProbe'), spec(pod, 'StartupProbe')], [30_000, 5000, 3000]);
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: 7 } };
    assert.deepEqual([spec(deleted), spec(deleted, 'LivenessProbe')], [7000, 7000]);
  });

  test("comes from the container's annotations when the pod is lost, deletion before termination, damage counting as absent", () => {
    const termination = { 'io.kubernetes.pod.terminationGracePeriod': '40' };
    assert.deepEqual(
      [
        spec(undefined, 'Unknown', termination),
        spec(undefined, 'Unknown', { ...termination, 'io.kubernetes.pod.deletionGracePeriod': '4' }),
        spec(undefined, 'Unknown', { 'io.kubernetes.pod.terminationGracePeriod': 'soon' }),
      ],
      [40_000, 4000, 2000],
    );
  });
});

describe('killing a pod', () => {
  test('stops regular containers in parallel, then sidecars in reverse, then the sandbox, and removes nothing', async () => {
    const pod = aPod({
      initContainers: [side('side'), side('s2')],
      containers: [aContainer('app'), aContainer('log')],
    });
    const { h, beganMs } = await running(pod, (it) => {
      it.runtime.behaviour('app', { stopMs: 1000 });
      it.runtime.behaviour('log', { stopMs: 2000 });
    });
    const outcome = await h.kill(pod);
    assert.deepEqual([outcome.failures, outcome.aborted], [[], false]);
    assert.deepEqual(ends(h, beganMs), ['1000 app 143', '2000 log 143', '2005 s2 143', '2010 side 143']);
    assert.deepEqual(
      h.calls('stopSandbox', 'removeSandbox', 'removeContainer').map((line) => line.split(' ')[1]),
      ['stopSandbox'],
    );
    assert.deepEqual(
      h.notices.filter((line) => line.startsWith('cache')),
      [
        'cache app#0 exited',
        'cache log#0 exited',
        'cache s2#0 exited',
        'cache side#0 exited',
        'cache sandbox#0 stopped',
      ],
    );
    assert.deepEqual(h.events.slice(0, 2).sort(), [
      'Normal Killing Stopping container app [app]',
      'Normal Killing Stopping container log [log]',
    ]);
  });

  test('a container that ignores the signal is killed at the end of the grace', async () => {
    const { h, beganMs } = await running(aPod({ terminationGracePeriodSeconds: 10 }), (it) =>
      it.runtime.behaviour('app', { ignoresTerm: true }),
    );
    await h.kill(aPod({ terminationGracePeriodSeconds: 10 }));
    assert.deepEqual(ends(h, beganMs), ['10000 app 137']);
  });

  test('an override replaces the grace, and the runtime always gets two seconds', async () => {
    for (const [graceMs, endMs] of [
      [5000, 5000],
      [1000, 2000],
      [0, 2000],
    ] as const) {
      const { h, beganMs } = await running(aPod(), (it) => it.runtime.behaviour('app', { ignoresTerm: true }));
      await h.kill(aPod(), { graceMs });
      assert.deepEqual(ends(h, beganMs), [`${endMs} app 137`]);
    }
  });

  test('preStop runs before the signal and its time is subtracted from the grace', async () => {
    const pod = aPod({ terminationGracePeriodSeconds: 10, containers: [aContainer('app', preStop)] });
    const { h, beganMs } = await running(pod, (it) => {
      it.runtime.behaviour('app', { ignoresTerm: true });
      it.hook = () => new Promise((resolve) => it.clock.setTimer(4000, () => resolve({ ok: true })));
    });
    await h.kill(pod);
    assert.deepEqual(
      [h.hookCalls, ends(h, beganMs), h.calls('stopContainer')],
      [['app drain'], ['10000 app 137'], [`${beganMs + 4000} stopContainer app`]],
    );
  });

  test('a preStop that never ends is cut at the grace, and the container still gets two seconds', async () => {
    const pod = aPod({ terminationGracePeriodSeconds: 10, containers: [aContainer('app', preStop)] });
    let cut = false;
    const { h, beganMs } = await running(pod, (it) => {
      it.runtime.behaviour('app', { ignoresTerm: true });
      it.hook = (_name, signal) => new Promise(() => signal.addEventListener('abort', () => (cut = true)));
    });
    await h.kill(pod);
    assert.deepEqual([ends(h, beganMs), cut, h.clock.armedTimers], [['12000 app 137'], true, 0]);
  });

  test('a failed preStop is reported without its output, and the kill goes on', async () => {
    const pod = aPod({ containers: [aContainer('app', preStop)] });
    const { h } = await running(pod, (it) => {
      it.hook = async () => ({ ok: false, message: 'password=1' });
    });
    await h.kill(pod);
    assert.deepEqual(
      [h.containers, h.events],
      [
        ['app#0 143'],
        ['Normal Killing Stopping container app [app]', 'Warning FailedPreStopHook PreStopHook failed [app]'],
      ],
    );
  });

  test('without grace there is no preStop', async () => {
    const pod = aPod({ containers: [aContainer('app', preStop)] });
    const { h } = await running(pod);
    await h.kill(pod, { graceMs: 0 });
    assert.deepEqual(h.hookCalls, []);
  });

  test('a sidecar waits for its turn no longer than the grace', async () => {
    const pod = aPod({ terminationGracePeriodSeconds: 5, initContainers: [side('side')] });
    const { h, beganMs } = await running(pod, (it) => {
      it.runtime.behaviour('app', { ignoresTerm: true });
      it.runtime.delay('stopContainer', 60_000, { match: ({ container }) => container === 'app' });
    });
    await h.kill(pod);
    assert.equal(ends(h, beganMs)[0], '5005 side 143');
  });

  test('a new request with less grace shortens a kill under way, without a second hook or event', async () => {
    const pod = aPod({ terminationGracePeriodSeconds: 600, containers: [aContainer('app', preStop)] });
    const { h, beganMs } = await running(pod, (it) => {
      it.runtime.behaviour('app', { ignoresTerm: true });
      it.hook = () => new Promise((resolve) => it.clock.setTimer(3000, () => resolve({ ok: true })));
    });
    const controller = new AbortController();
    const first = h.pods.killPod({ pod, status: await h.status(pod), signal: controller.signal });
    await h.clock.advance(1000);
    controller.abort();
    assert.equal((await h.finish(first)).aborted, true);
    const second = await h.kill(pod, { graceMs: 5000 });
    assert.deepEqual(
      [second.failures, h.hookCalls, h.events.filter((line) => line.includes('Killing')).length],
      [[], ['app drain'], 1],
    );
    assert.deepEqual(ends(h, beganMs), ['6000 app 137']);
  });

  test('an abort at any moment leaves no timer and no slot behind, and a new request finishes the kill', async () => {
    const pod = aPod({
      terminationGracePeriodSeconds: 3,
      initContainers: [side('side')],
      containers: [aContainer('app', preStop), aContainer('log')],
    });
    for (let atMs = 0; atMs <= 3200; atMs += 200) {
      const { h } = await running(pod, (it) => {
        it.runtime.behaviour('log', { ignoresTerm: true });
        it.hook = () => new Promise((resolve) => it.clock.setTimer(500, () => resolve({ ok: true })));
      });
      const controller = new AbortController();
      const first = h.pods.killPod({ pod, status: await h.status(pod), signal: controller.signal });
      await h.clock.advance(atMs);
      controller.abort();
      await h.finish(first);
      assert.equal(h.pods.stopPacer.held, 0);
      const again = await h.kill(pod);
      assert.deepEqual(
        [again.failures, h.containers.some((line) => line.endsWith('running'))],
        [[], false],
        `at ${atMs} ms`,
      );
    }
  });

  test('a pod that only the runtime knows is killed by its records, hook included', async () => {
    const pod = aPod({ terminationGracePeriodSeconds: 4, containers: [aContainer('app', preStop)] });
    const { h, beganMs } = await running(pod, (it) => it.runtime.behaviour('app', { ignoresTerm: true }));
    await h.finish(
      h.pods.killPod({ pod: undefined, status: await h.status(pod), signal: new AbortController().signal }),
    );
    assert.deepEqual(
      [h.hookCalls, ends(h, beganMs), h.runtime.sandboxes().map(({ ready }) => ready)],
      [['app drain'], ['4000 app 137'], [false]],
    );
  });

  test('a container that cannot be stopped is a failure, and the sandbox is stopped anyway', async () => {
    const { h } = await running(aPod(), (it) =>
      it.runtime.fail('stopContainer', { kind: 'Internal', message: 'stuck', times: 1 }),
    );
    const outcome = await h.kill(aPod());
    assert.deepEqual(outcome.failures, [
      { scope: 'kill', container: 'app', reason: 'KillContainerError', message: 'stuck' },
    ]);
    assert.equal(h.runtime.sandboxes()[0]?.ready, false);
  });

  test('a stop that timed out and worked is no failure', async () => {
    const { h } = await running(aPod(), (it) => {
      it.runtime.behaviour('app', { stopMs: 0 });
      it.runtime.lateSuccess('stopContainer', { times: 1 });
    });
    const outcome = await h.kill(aPod());
    assert.deepEqual([outcome.failures, h.containers], [[], ['app#0 143']]);
  });

  test('that no longer exists succeeds', async () => {
    const h = new Harness();
    const outcome = await h.finish(
      h.pods.killPod({ pod: aPod(), status: aStatus([aRun('app', 'running')]), signal: new AbortController().signal }),
    );
    assert.deepEqual([outcome.failures, outcome.status.containers], [[], []]);
    const nothing = await h.finish(
      h.pods.killPod({
        pod: aPod(),
        status: emptyPodRuntimeStatus({ uid: podUid('x'), name: 'x', namespace: 'y' }, 0),
        signal: new AbortController().signal,
      }),
    );
    assert.deepEqual(nothing.failures, []);
  });

  test('containers that use their grace do not delay the kill of other pods', async () => {
    const h = new Harness();
    h.runtime.behaviour('app', { ignoresTerm: true });
    const pods = Array.from({ length: 12 }, (_, index) => aPod({}, { uid: `uid-${index}`, name: `web-${index}` }));
    for (const pod of pods) await h.sync(pod);
    const beganMs = h.clock.monotonicMs();
    const known = new Map<Pod, PodRuntimeStatus>();
    for (const pod of pods) known.set(pod, await h.status(pod));
    const kills = [...known].map(([pod, status]) =>
      h.pods.killPod({ pod, status, signal: new AbortController().signal }),
    );
    await h.finish(Promise.all(kills));
    assert.ok(h.clock.monotonicMs() - beganMs < 32_000, `took ${h.clock.monotonicMs() - beganMs} ms`);
  });
});
