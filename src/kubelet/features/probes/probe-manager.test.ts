import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import { answer, FakeNetDial, hang } from '../../ports/testing/fake-net-dial.ts';
import { ProbeManager } from './probe-manager.ts';
import { uid, WEB, http, podWith, StallingClock, bench, get } from './testing/probe-bench.ts';

test('before any probe liveness is success, readiness failure and startup unknown, without a notification', () => {
  const made = bench();
  made.manager.addPod(podWith({ livenessProbe: http, readinessProbe: http, startupProbe: http }));
  assert.equal(get(made, 'readiness'), undefined);
  made.see('c1');
  assert.deepEqual(
    [get(made, 'liveness'), get(made, 'readiness'), get(made, 'startup'), made.updates],
    ['success', 'failure', 'unknown', []],
  );
});

test('a container that answers at once is ready at once', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(0);
  assert.deepEqual([made.updates, made.dial.calls], [['c1 readiness success'], ['http GET http://10.0.0.7:80/ok']]);
});

test('a container that needs a moment is ready soon after, without an event for its first failures', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(300);
  made.dial.listen(WEB, { http: () => answer(200) });
  await made.clock.advance(300);
  assert.deepEqual([made.updates, made.events], [['c1 readiness success'], []]);
});

test("a container that is never ready is finally probed at its period, with upstream's event", async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(10_000);
  assert.deepEqual(made.events, [
    'Warning Unhealthy web: Readiness probe failed: Get "http://10.0.0.7:80/ok": dial tcp 10.0.0.7:80: connect: connection refused',
  ]);
  const before = made.dial.calls.length;
  await made.clock.advance(50_000);
  assert.equal(made.dial.calls.length - before, 5);
});

test('the reason why a container is not ready, and the next probe, can be queried', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(503) });
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(10_000);
  const nowMs = made.clock.nowMs();
  assert.deepEqual(made.manager.report(uid), [
    {
      container: 'web',
      type: 'readiness',
      verdict: 'failure',
      lastOutput: 'HTTP probe failed with statuscode: 503',
      lastAtMs: nowMs,
      nextTryAtMs: nowMs + 10_000,
    },
  ]);
});

test("eager probes do not count towards a startup probe's failure threshold", async () => {
  const made = bench();
  made.manager.addPod(podWith({ startupProbe: { ...http, failureThreshold: 2 } }));
  made.see('c1');
  await made.clock.advance(19_000);
  assert.equal(get(made, 'startup'), 'unknown');
  await made.clock.advance(1_500);
  assert.deepEqual(made.updates, ['c1 startup failure']);
});

test('nothing is probed before the initial delay', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: { ...http, initialDelaySeconds: 5 } }));
  made.see('c1');
  await made.clock.advance(4_999);
  assert.deepEqual(made.dial.calls, []);
  await made.clock.advance(1);
  assert.deepEqual(made.updates, ['c1 readiness success']);
});

test('a step of the wall clock does not move the initial delay', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: { ...http, initialDelaySeconds: 5 } }));
  made.see('c1');
  made.clock.stepWall(-3_600_000);
  await made.clock.advance(5_000);
  assert.deepEqual(made.updates, ['c1 readiness success']);
});

test('liveness and readiness wait for startup, then begin at once', async () => {
  const made = bench();
  let status = 500;
  made.dial.listen(WEB, { http: ({ path }) => answer(path === '/start' ? status : 200) });
  made.manager.addPod(
    podWith({
      startupProbe: { ...http, httpGet: { path: '/start', port: 80 }, periodSeconds: 1, failureThreshold: 100 },
      readinessProbe: http,
      livenessProbe: http,
    }),
  );
  made.see('c1');
  await made.clock.advance(30_000);
  assert.ok(made.dial.calls.every((call) => call.endsWith('/start')));
  status = 200;
  await made.clock.advance(1_000);
  assert.deepEqual(made.updates, ['c1 startup success', 'c1 readiness success']);
  const starts = made.dial.calls.filter((call) => call.endsWith('/start')).length;
  await made.clock.advance(30_000);
  assert.equal(made.dial.calls.filter((call) => call.endsWith('/start')).length, starts, 'startup is not probed again');
});

test('a failed liveness probe is reported once and the container is not probed again until it is replaced', async () => {
  const made = bench();
  made.manager.addPod(podWith({ livenessProbe: http }));
  made.see('c1');
  await made.clock.advance(30_000);
  assert.deepEqual([made.updates, made.dial.calls.length, made.events.length], [['c1 liveness failure'], 3, 3]);
  await made.clock.advance(60_000);
  assert.equal(made.dial.calls.length, 3);
  made.see('c2');
  assert.deepEqual([get(made, 'liveness', 'c1'), get(made, 'liveness', 'c2')], [undefined, 'success']);
  await made.clock.advance(10_000);
  assert.equal(made.dial.calls.length, 4);
});

test('an exited container is not ready and not probed', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http, livenessProbe: http }));
  made.see('c1');
  await made.clock.advance(10);
  made.see('c1', 'exited');
  const calls = made.dial.calls.length;
  await made.clock.advance(60_000);
  assert.deepEqual(
    [made.updates, made.dial.calls.length, made.clock.armedTimers],
    [['c1 readiness success', 'c1 readiness failure'], calls, 0],
  );
});

test('a result that comes back for an earlier container is dropped', async () => {
  const made = bench();
  let respond = (_status: number): void => undefined;
  made.dial.listen(WEB, { http: () => new Promise((resolve) => (respond = (status) => resolve(answer(status)))) });
  made.manager.addPod(podWith({ readinessProbe: { ...http, timeoutSeconds: 9 } }));
  made.see('c1');
  await made.clock.advance(0);
  const late = respond;
  made.see('c2');
  late(200);
  await made.clock.advance(0);
  assert.deepEqual([made.updates, get(made, 'readiness', 'c2')], [[], 'failure']);
});

test('readiness probes continue while a pod terminates, the others end silently as successes', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http, livenessProbe: http, startupProbe: http }));
  made.see('c1');
  await made.clock.advance(100);
  made.updates.length = 0;
  made.manager.stopLivenessAndStartup(uid);
  made.dial.close(WEB);
  await made.clock.advance(60_000);
  assert.deepEqual(
    [made.updates, get(made, 'liveness'), get(made, 'startup')],
    [['c1 readiness failure'], 'success', 'success'],
  );
});

test('a removed pod leaves no verdict and no timer', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http, livenessProbe: http }));
  made.see('c1');
  await made.clock.advance(5_000);
  made.manager.cleanUpPods(new Set());
  await made.clock.advance(60_000);
  assert.deepEqual([get(made, 'readiness'), get(made, 'liveness'), made.clock.armedTimers], [undefined, undefined, 0]);
});

test('sidecars are probed, plain init containers are not', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http }, { sidecar: true }));
  made.see('c1');
  await made.clock.advance(0);
  assert.deepEqual(made.updates, ['c1 readiness success']);
});

test('a thousand probes a second run on a handful of timers', async () => {
  const clock = new StallingClock();
  const dial = new FakeNetDial(clock);
  let calls = 0;
  dial.listen('10.0.0.7:80', { tcp: () => void calls++ });
  const manager = new ProbeManager({
    clock,
    random: seededRandom(2),
    log: recordingLog(),
    recorder: { event: () => undefined },
    runtime: { execSync: () => hang() },
    dial,
    hostIp: () => '10.0.0.7',
    onUpdate: () => undefined,
  });
  for (let index = 0; index < 1000; index++) {
    const each = podUid(`pod-${index}`);
    manager.addPod({
      metadata: { name: `p${index}`, namespace: 'default', uid: each },
      spec: {
        hostNetwork: true,
        containers: [{ name: 'web', livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }],
      },
    });
    manager.noteStatus({
      uid: each,
      name: '',
      namespace: '',
      sandboxes: [],
      observedAtMs: 0,
      containers: [
        {
          id: containerId(`c${index}`),
          sandboxId: sandboxId('s'),
          name: 'web',
          attempt: 0,
          state: 'running',
          createdAtMs: 0,
          startedAtMs: clock.nowMs() - 60_000,
          finishedAtMs: 0,
          exitCode: 0,
          reason: '',
          message: '',
          image: '',
          imageRef: '',
          imageId: '',
          logPath: '',
          labels: {},
          annotations: {},
        },
      ],
    });
  }
  await clock.advance(3_000);
  assert.ok(calls >= 2_000 && calls <= 4_000, `${calls} probes`);
  assert.ok(clock.armedTimers <= 2, `${clock.armedTimers} timers`);
});
