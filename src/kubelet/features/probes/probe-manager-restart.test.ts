import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadNodeLoad } from '../../ports/node-load.ts';
import { answer, hang } from '../../ports/testing/fake-net-dial.ts';
import { uid, WEB, http, podWith, StallingClock, bench, get, running } from './testing/probe-bench.ts';

// ---- an overloaded node ----

/** Creates a node with two processors that are never idle. `overloaded` sets whether tasks wait for one. */
function loadedNode(clock: StallingClock, node: { overloaded: boolean }): ReadNodeLoad {
  let [stalledMs, lastMs] = [0, clock.monotonicMs()];
  return () => {
    const nowMs = clock.monotonicMs();
    if (node.overloaded) stalledMs += nowMs - lastMs;
    lastMs = nowMs;
    return { idleMs: 0, capacityMs: 2 * nowMs, stalledMs, runnable: 9, cores: 2 };
  };
}

test('after a restart of the agent a saved result applies from the first moment, and probes are spread over the period', async () => {
  const first = await running({ readinessProbe: http, startupProbe: http });
  const second = bench({ clock: first.clock });
  second.dial.listen(WEB, { http: () => answer(200) });
  second.manager.restore({ entries: JSON.parse(JSON.stringify(first.manager.snapshot())) as unknown[], isWhole: true });
  first.manager.stop();
  second.manager.addPod(podWith({ readinessProbe: http, startupProbe: http }));
  second.see('c1', 'running', first.clock.nowMs() - 20_000);
  assert.deepEqual([get(second, 'readiness'), get(second, 'startup')], ['success', 'success']);
  await second.clock.advance(1);
  assert.deepEqual(second.dial.calls, []);
  await second.clock.advance(10_000);
  assert.deepEqual([second.dial.calls.length, second.updates], [1, []]);
});

test('without saved results an older container is assumed healthy after a restart, and probed within a second', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: { ...http, failureThreshold: 1 } }));
  made.see('c1', 'running', made.clock.nowMs() - 60_000);
  assert.equal(get(made, 'readiness'), 'success');
  await made.clock.advance(1_000);
  assert.deepEqual(made.updates, ['c1 readiness failure']);
});

test('a container made just before the restart is not assumed to be ready', () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1', 'running', made.clock.nowMs() - 5_000);
  assert.equal(get(made, 'readiness'), 'failure');
});

test('a container that was never probed is not assumed ready when the record of results is complete', async () => {
  const first = await running({ readinessProbe: http });
  const entries = first.manager.snapshot();
  const startedAtMs = first.clock.nowMs();
  await first.clock.advance(60_000);
  const after = (isWhole: boolean): string | undefined => {
    const made = bench({ clock: first.clock });
    made.manager.restore({ entries, isWhole });
    made.manager.addPod(podWith({ readinessProbe: http }));
    made.see('c2', 'running', startedAtMs);
    return get(made, 'readiness', 'c2');
  };
  assert.deepEqual([after(true), after(false)], ['failure', 'success']);
});

test('a container from before the loss of the record is assumed healthy by every later agent, until it is probed', async () => {
  const old = bench();
  const startedAtMs = old.clock.nowMs();
  await old.clock.advance(60_000);
  const first = bench({ clock: old.clock });
  await first.clock.advance(1000);
  const second = bench({ clock: first.clock });
  second.manager.restore({ entries: first.manager.snapshot(), isWhole: true });
  second.manager.addPod(podWith({ readinessProbe: http }));
  second.see('c1', 'running', startedAtMs);
  assert.equal(get(second, 'readiness'), 'success');
});

test('a snapshot taken right after the start still contains the restored results', async () => {
  const first = await running({ readinessProbe: http });
  const second = bench({ clock: first.clock });
  second.manager.restore({ entries: first.manager.snapshot(), isWhole: true });
  assert.deepEqual(second.manager.snapshot(), first.manager.snapshot());
  assert.equal(first.manager.snapshot().length, 2);
});

// ---- the agent's own lateness ----

test('a deadline missed while the agent was stopped does not count, and the probe is repeated', async () => {
  const made = bench();
  let hanging = true;
  made.dial.listen(WEB, { http: () => (hanging ? hang() : answer(200)) });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 1, periodSeconds: 1 } }));
  made.see('c1');
  await made.clock.advance(1_100);
  made.clock.stall(60_000);
  await made.clock.advance(899);
  hanging = false;
  await made.clock.advance(10);
  assert.deepEqual(
    [get(made, 'liveness'), made.manager.counters().inconclusive, made.manager.counters().success > 0],
    ['success', 1, true],
  );
  assert.match(
    made.events[0] ?? '',
    /ProbeWarning web: Liveness probe inconclusive: the agent itself was late by 60000 ms/,
  );
  assert.equal(made.log.lines.filter((line) => line.level === 'warn').length, 1);
});

test('a deadline missed by the container alone is its failure', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => hang() });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 2 } }));
  made.see('c1');
  await made.clock.advance(21_000);
  assert.deepEqual([made.updates, made.manager.counters().timeout], [['c1 liveness failure'], 2]);
});

test('a definite answer counts however late the agent was', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(500) });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 1 } }));
  made.see('c1');
  made.clock.stall(60_000);
  await made.clock.advance(10_000);
  assert.deepEqual(made.updates, ['c1 liveness failure']);
});

test('a container made after the wall clock was set back is not treated as an old one: it must pass its readiness probe', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  made.clock.stepWall(-3_600_000);
  made.see('c2');
  assert.deepEqual(
    [get(made, 'readiness', 'c2'), made.saved],
    ['failure', ['c1 failure', 'complete since now', 'c2 failure']],
  );
});

test('an unfinished probe is saved too, so that the next agent does not assume the container to be healthy', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(60_000);
  assert.deepEqual(made.saved, ['c1 failure']);
});

test('deadlines missed on an overloaded node kill nothing, are logged once, and are explained while it lasts', async () => {
  const clock = new StallingClock();
  const node = { overloaded: true };
  const made = bench({ clock, nodeLoad: loadedNode(clock, node) });
  made.dial.listen(WEB, { http: () => hang() });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 1, periodSeconds: 2 } }));
  made.see('c1');
  await made.clock.advance(60_000);
  assert.deepEqual([get(made, 'liveness'), made.updates], ['success', []]);
  assert.ok(made.manager.counters().inconclusive >= 19, String(made.manager.counters().inconclusive));
  assert.deepEqual(made.events, [
    'Warning ProbeWarning web: Liveness probe inconclusive: the node is overloaded: all its processors were busy and others waited for them, so the missed deadline does not count as a failure of the container',
  ]);
  assert.match(made.manager.report(uid)[0]?.lastOutput ?? '', /^inconclusive: the node is overloaded/);
  node.overloaded = false;
  await made.clock.advance(4_000);
  assert.deepEqual(made.updates, ['c1 liveness failure']);
});

test('on an overloaded node a response still counts, and a refused connection is still a failure', async () => {
  const clock = new StallingClock();
  const made = bench({ clock, nodeLoad: loadedNode(clock, { overloaded: true }) });
  made.dial.listen(WEB, { http: () => answer(503) });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 2, periodSeconds: 1 } }));
  made.see('c1');
  await made.clock.advance(1_500);
  made.dial.close(WEB);
  await made.clock.advance(1_000);
  assert.deepEqual(made.updates, ['c1 liveness failure']);
});

test('a container that may cause the load is not excused for ever', async () => {
  const clock = new StallingClock();
  const made = bench({ clock, nodeLoad: loadedNode(clock, { overloaded: true }) });
  made.dial.listen(WEB, { http: () => hang() });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 1, periodSeconds: 10 } }));
  made.see('c1');
  await made.clock.advance(145_000);
  assert.deepEqual(made.updates, []);
  await made.clock.advance(40_000);
  assert.deepEqual(made.updates, ['c1 liveness failure']);
});
