import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import type { Timer } from '../../../base/clock.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog, type RecordingLog } from '../../../base/testing/recording-log.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Probe } from '../../../api/core/probe.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerState, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { ExecResult } from '../../ports/runtime.ts';
import type { ReadNodeLoad } from '../../ports/node-load.ts';
import { answer, FakeNetDial, hang } from '../../ports/testing/fake-net-dial.ts';
import { ProbeManager } from './probe-manager.ts';

const uid = podUid('pod-1');
const WEB = '10.0.0.7:80';
const http: Probe = { httpGet: { path: '/ok', port: 80 }, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3 };

function podWith(container: Partial<Container>, extra: { hostNetwork?: boolean; sidecar?: boolean } = {}): Pod {
  const made: Container = { name: 'web', ...container };
  const spec =
    extra.sidecar === true
      ? { containers: [{ name: 'main' }], initContainers: [{ ...made, restartPolicy: 'Always' as const }] }
      : { containers: [made], hostNetwork: extra.hostNetwork };
  return { metadata: { name: 'p', namespace: 'default', uid }, spec };
}

/** A clock that can also jump without firing anything: a blocked event loop. */
class StallingClock extends FakeClock {
  #stallMs = 0;
  override monotonicMs(): number {
    return super.monotonicMs() + this.#stallMs;
  }
  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs, fire);
  }
  stall(byMs: number): void {
    this.#stallMs += byMs;
  }
}

interface Bench {
  clock: StallingClock;
  dial: FakeNetDial;
  log: RecordingLog;
  manager: ProbeManager;
  updates: string[];
  /** The snapshot after each change of it. */
  saved: string[];
  events: string[];
  execs: { command: readonly string[]; timeoutMs: number }[];
  exec: { run: () => Promise<ExecResult> };
  see: (id: string, state?: ContainerState, startedAtMs?: number, ips?: string[]) => void;
}

function bench(options: { clock?: StallingClock; nodeLoad?: ReadNodeLoad } = {}): Bench {
  const clock = options.clock ?? new StallingClock();
  const dial = new FakeNetDial(clock);
  const log = recordingLog();
  const updates: string[] = [];
  const events: string[] = [];
  const execs: Bench['execs'] = [];
  const exec: Bench['exec'] = {
    run: async () => ({ stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 }),
  };
  const saved: string[] = [];
  const manager = new ProbeManager({
    clock,
    random: seededRandom(1),
    log,
    recorder: {
      event: (_pod, type, reason, message, container) => events.push(`${type} ${reason} ${container}: ${message}`),
    },
    runtime: {
      execSync: (_id, command, timeoutMs) => {
        execs.push({ command, timeoutMs });
        return exec.run();
      },
    },
    dial,
    nodeLoad: options.nodeLoad,
    hostIp: () => '192.0.2.1',
    onUpdate: ({ containerId: id, type, verdict }) => updates.push(`${id} ${type} ${verdict}`),
    onSnapshotChange: (entry) => saved.push('id' in entry ? `${entry.id} ${entry.verdict}` : 'complete since now'),
  });
  const see = (
    id: string,
    state: ContainerState = 'running',
    startedAtMs = clock.nowMs(),
    ips = ['10.0.0.7'],
  ): void => {
    const status: PodRuntimeStatus = {
      uid,
      name: 'p',
      namespace: 'default',
      sandboxes: [
        {
          id: sandboxId('s'),
          podUid: uid,
          podName: 'p',
          podNamespace: 'default',
          attempt: 0,
          ready: true,
          createdAtMs: 0,
          ips,
          hostNetwork: false,
          runtimeHandler: '',
          labels: {},
          annotations: {},
        },
      ],
      containers: [
        {
          id: containerId(id),
          sandboxId: sandboxId('s'),
          name: 'web',
          attempt: 0,
          state,
          createdAtMs: 0,
          startedAtMs,
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
      observedAtMs: clock.monotonicMs(),
    };
    manager.noteStatus(status);
  };
  return { clock, dial, log, manager, updates, saved, events, execs, exec, see };
}

const get = (made: Bench, type: 'liveness' | 'readiness' | 'startup', id = 'c1'): string | undefined =>
  made.manager.get(type, containerId(id));

test('before any probe liveness is success, readiness failure, startup unknown, and nobody is told', () => {
  const made = bench();
  made.manager.addPod(podWith({ livenessProbe: http, readinessProbe: http, startupProbe: http }));
  assert.equal(get(made, 'readiness'), undefined);
  made.see('c1');
  assert.deepEqual(
    [get(made, 'liveness'), get(made, 'readiness'), get(made, 'startup'), made.updates],
    ['success', 'failure', 'unknown', []],
  );
});

test('a pod of two families is asked at its address of the node’s family', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1', 'running', made.clock.nowMs(), ['fd00::7', '10.0.0.7']);
  await made.clock.advance(0);
  assert.deepEqual(made.dial.calls, ['http GET http://10.0.0.7:80/ok']);
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

test("a container that is never ready is tried at its period in the end, with upstream's event", async () => {
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

test('why a container is not ready, and when it is tried next, can be asked', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(503) });
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(10_000);
  const nowMs = made.clock.nowMs();
  assert.deepEqual(made.manager.standing(uid), [
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

test("eager tries use up none of a startup probe's failures", async () => {
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

test('a failed liveness probe is told once and the container is left alone until there is another', async () => {
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

test('readiness goes on while a pod terminates, the others end as successes in silence', async () => {
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

test("pods on the host's network are probed at the node's address", async () => {
  const made = bench();
  made.manager.addPod(podWith({ livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }, { hostNetwork: true }));
  made.see('c1');
  await made.clock.advance(1_000);
  assert.deepEqual(made.dial.calls, ['tcp 192.0.2.1:80']);
});

// ---- restart of the agent ----

async function running(container: Partial<Container>): Promise<Bench> {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith(container));
  made.see('c1');
  await made.clock.advance(20_000);
  return made;
}

test('after a restart of the agent a remembered verdict holds from the first moment, and probes are spread over the period', async () => {
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

test('a restart without memory assumes an older container to be well, and checks within a second', async () => {
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

test('what nobody ever probed is not assumed to be ready when the record of the probes is complete', async () => {
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

test('what began before the record was lost is assumed to be well by every later agent, until it is probed', async () => {
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

test('a snapshot taken right after the start still holds what was remembered', async () => {
  const first = await running({ readinessProbe: http });
  const second = bench({ clock: first.clock });
  second.manager.restore({ entries: first.manager.snapshot(), isWhole: true });
  assert.deepEqual(second.manager.snapshot(), first.manager.snapshot());
  assert.equal(first.manager.snapshot().length, 2);
});

// ---- the agent's own lateness ----

test('a deadline missed while the agent was stopped is held against nobody, and the probe is repeated', async () => {
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

// ---- transports ----

async function readinessEvents(
  probe: Probe,
  prepare: (made: Bench) => void = () => undefined,
  container: Partial<Container> = {},
): Promise<{ events: string[]; verdict: string | undefined; made: Bench }> {
  const made = bench();
  prepare(made);
  made.manager.addPod(podWith({ ...container, readinessProbe: { timeoutSeconds: 1, periodSeconds: 1, ...probe } }));
  made.see('c1');
  await made.clock.advance(1_000);
  return { events: made.events, verdict: get(made, 'readiness'), made };
}

test('exec: the exit code decides, the output is told, variables written in the pod are filled in', async () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const { events, verdict, made } = await readinessEvents(
    { exec: { command: ['check', '$(A)', '$$(A)', '$(B)'] }, timeoutSeconds: 7 },
    (each) => (each.exec.run = async () => ({ stdout: bytes('out '), stderr: bytes('err'), exitCode: 1 })),
    { env: [{ name: 'A', value: 'x' }] },
  );
  assert.deepEqual(
    [events, verdict, made.execs[0]],
    [
      ['Warning Unhealthy web: Readiness probe failed: out err'],
      'failure',
      { command: ['check', 'x', '$(A)', '$(B)'], timeoutMs: 7_000 },
    ],
  );
});

test("exec: a command over its time fails in upstream's words", async () => {
  const { events } = await readinessEvents({ exec: { command: ['sleep', '9'] } }, (made) => {
    made.exec.run = () => Promise.reject(new KubeletError('Timeout', 'x'));
  });
  assert.deepEqual(events, [
    'Warning Unhealthy web: Readiness probe failed: command timed out: "sleep 9" timed out after 1s',
  ]);
});

test('exec: a failure of the runtime is no verdict, tried three times', async () => {
  const { events, made } = await readinessEvents(
    { exec: { command: ['x'] }, initialDelaySeconds: 1, successThreshold: 2 },
    (each) => {
      each.exec.run = () => Promise.reject(new KubeletError('Unavailable', 'runtime is down'));
    },
  );
  assert.deepEqual(
    [events, made.execs.length, made.updates],
    [['Warning Unhealthy web: Readiness probe errored and resulted in unknown state: runtime is down'], 3, []],
  );
});

test('http: headers, user agent, named port and host go out as upstream sends them', async () => {
  const { made } = await readinessEvents(
    {
      httpGet: {
        port: 'web',
        path: '/p',
        host: 'other',
        scheme: 'HTTPS',
        httpHeaders: [
          { name: 'Accept', value: '' },
          { name: 'X', value: '1' },
        ],
      },
    },
    undefined,
    { ports: [{ name: 'web', containerPort: 8443 }] },
  );
  assert.deepEqual(made.dial.requests[0], {
    scheme: 'https',
    host: 'other',
    port: 8443,
    path: '/p',
    headers: [
      { name: 'X', value: '1' },
      { name: 'User-Agent', value: 'kube-probe/1.36' },
    ],
    timeoutMs: 1_000,
  });
});

test('http: a status of 4xx or 5xx fails, a redirect elsewhere passes with a warning', async () => {
  const bad = await readinessEvents({ httpGet: { port: 80 } }, (made) =>
    made.dial.listen(WEB, { http: () => answer(404) }),
  );
  assert.deepEqual(bad.events, [
    'Warning Unhealthy web: Readiness probe failed: HTTP probe failed with statuscode: 404',
  ]);
  const away = await readinessEvents({ httpGet: { port: 80 } }, (made) =>
    made.dial.listen(WEB, { http: () => ({ kind: 'redirect', location: 'http://x/', body: 'moved' }) }),
  );
  assert.deepEqual(
    [away.events[0], away.verdict],
    ['Warning ProbeWarning web: Readiness probe warning: Probe terminated redirects, Response body: moved', 'success'],
  );
});

test('a port name nobody has is an error, not a failure', async () => {
  const { events } = await readinessEvents({ tcpSocket: { port: 'none' } });
  assert.deepEqual(events, [
    'Warning Unhealthy web: Readiness probe errored and resulted in unknown state: port none not found',
  ]);
});

test('a pod without an address is probed nowhere, least of all on this machine', async () => {
  for (const probe of [
    { tcpSocket: { port: 80 } },
    { httpGet: { port: 80 } },
    { grpc: { port: 80 } },
  ] satisfies Probe[]) {
    const made = bench();
    made.manager.addPod(podWith({ livenessProbe: { ...probe, periodSeconds: 1, failureThreshold: 1 } }));
    made.see('c1', 'running', undefined, []);
    await made.clock.advance(5_000);
    assert.deepEqual([made.dial.calls, made.updates], [[], []]);
    assert.match(made.events[0] ?? '', /errored and resulted in unknown state: the pod has no address/);
  }
});

test('grpc: only SERVING passes', async () => {
  const bad = await readinessEvents({ grpc: { port: 80, service: 's' } }, (made) =>
    made.dial.listen(WEB, { grpc: () => 'NOT_SERVING' }),
  );
  assert.deepEqual(
    [bad.events, bad.verdict],
    [['Warning Unhealthy web: Readiness probe failed: service unhealthy (responded with "NOT_SERVING")'], 'failure'],
  );
  const good = await readinessEvents({ grpc: { port: 80 } }, (made) =>
    made.dial.listen(WEB, { grpc: () => 'SERVING' }),
  );
  assert.equal(good.verdict, 'success');
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

test('a container made after the wall clock was set back is not taken for an old one: its readiness must be earned', async () => {
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

test('that a container has not passed yet is saved too, so that the next agent does not take it to be well', async () => {
  const made = bench();
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1');
  await made.clock.advance(60_000);
  assert.deepEqual(made.saved, ['c1 failure']);
});

// ---- an overloaded node ----

/** Two processors, never idle; `overloaded` says whether anybody waits for one. */
function loadedNode(clock: StallingClock, node: { overloaded: boolean }): ReadNodeLoad {
  let [stalledMs, lastMs] = [0, clock.monotonicMs()];
  return () => {
    const nowMs = clock.monotonicMs();
    if (node.overloaded) stalledMs += nowMs - lastMs;
    lastMs = nowMs;
    return { idleMs: 0, capacityMs: 2 * nowMs, stalledMs, runnable: 9, cores: 2 };
  };
}

test('deadlines missed on an overloaded node kill nothing, are said once, and explained for as long as it lasts', async () => {
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
    'Warning ProbeWarning web: Liveness probe inconclusive: the node is overloaded: all its processors were busy and others waited for them, so the missed deadline is not held against the container',
  ]);
  assert.match(made.manager.standing(uid)[0]?.lastOutput ?? '', /^inconclusive: the node is overloaded/);
  node.overloaded = false;
  await made.clock.advance(4_000);
  assert.deepEqual(made.updates, ['c1 liveness failure']);
});

test('on an overloaded node an answer is still an answer, and a refused connection still a failure', async () => {
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

test('a container that may be the load itself is not excused for ever', async () => {
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

test('an answer whose body breaks off is no verdict, as upstream has it', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => ({ kind: 'answer', status: 200, body: '', broken: 'unexpected EOF' }) });
  made.manager.addPod(podWith({ livenessProbe: { ...http, failureThreshold: 1, periodSeconds: 10 } }));
  made.see('c1');
  await made.clock.advance(10_000);
  assert.deepEqual(
    [made.updates, made.events, made.dial.calls.length],
    [[], ['Warning Unhealthy web: Liveness probe errored and resulted in failure state: unexpected EOF'], 3],
  );
});
