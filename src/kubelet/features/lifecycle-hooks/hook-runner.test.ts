import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { LifecycleHandler } from '../../../api/core/probe.ts';
import { containerId } from '../../model/ids.ts';
import type { ExecResult } from '../../ports/runtime.ts';
import { answer, FakeNetDial, hang } from '../../ports/testing/fake-net-dial.ts';
import type { HookTarget } from './hook-runner.ts';
import { HookRunner } from './hook-runner.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const exec: LifecycleHandler = { exec: { command: ['do', 'it'] } };

function bench(run: () => Promise<ExecResult> = async () => ({ stdout: bytes(''), stderr: bytes(''), exitCode: 0 })): {
  clock: FakeClock;
  dial: FakeNetDial;
  hooks: HookRunner;
  events: string[];
  execs: [readonly string[], number][];
  signals: (AbortSignal | undefined)[];
  specialCases: string[];
} {
  const clock = new FakeClock();
  const dial = new FakeNetDial(clock);
  const events: string[] = [];
  const execs: [readonly string[], number][] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const specialCases: string[] = [];
  const hooks = new HookRunner({
    onSpecialCase: (specialCase) => void specialCases.push(specialCase),
    clock,
    dial,
    log: recordingLog(),
    hostIp: () => '192.0.2.1',
    recorder: {
      event: (_pod, type, reason, message, container) =>
        events.push(`${type} ${reason} ${container ?? '-'}: ${message}`),
    },
    runtime: {
      execSync: (_id, command, timeoutMs, options) => {
        execs.push([command, timeoutMs]);
        signals.push(options?.signal);
        return run();
      },
    },
  });
  return { clock, dial, hooks, events, execs, signals, specialCases };
}

function target(
  lifecycle: HookTarget['container']['lifecycle'] = {},
  podIp: string | undefined = '10.0.0.7',
): HookTarget {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers: [{ name: 'web', lifecycle }] },
  };
  return { pod, container: { name: 'web', lifecycle }, id: containerId('c1'), podIp };
}
const never = new AbortController().signal;

test('a pod without hooks costs nothing', async () => {
  const made = bench();
  assert.deepEqual(
    [await made.hooks.postStart(target(), never), await made.hooks.preStop(target(), { limitMs: 1000 })],
    [{ ok: true }, { outcome: { ok: true }, tookMs: 0 }],
  );
  assert.equal(made.execs.length, 0);
});

test('an exec hook runs without a time limit of its own', async () => {
  const made = bench();
  assert.deepEqual(await made.hooks.postStart(target({ postStart: exec }), never), { ok: true });
  assert.deepEqual(made.execs, [[['do', 'it'], 0]]);
});

test('a failed postStart is reported by a message with the output and by an event without it', async () => {
  const made = bench(async () => ({ stdout: bytes('my \u001b secret'), stderr: bytes(''), exitCode: 3 }));
  assert.deepEqual(await made.hooks.postStart(target({ postStart: exec }), never), {
    ok: false,
    message: `Exec lifecycle hook ([do it]) for Container "web" in Pod "p_default(u)" failed - error: command 'do it' exited with 3: , message: "my \\x1b secret"`,
  });
  assert.deepEqual(made.events, ['Warning FailedPostStartHook web: PostStartHook failed']);
});

test('output is bounded', async () => {
  const made = bench(async () => ({ stdout: bytes('x'.repeat(1_000_000)), stderr: bytes(''), exitCode: 1 }));
  const outcome = await made.hooks.run(target(), exec, never);
  assert.ok(!outcome.ok && outcome.message.length < 25_000);
});

test('the wait for a preStop hook ends with the grace, without an event', async () => {
  const made = bench(() => hang());
  const work = made.hooks.preStop(target({ preStop: exec }), { limitMs: 5_000 });
  await made.clock.advance(5_000);
  assert.deepEqual(
    [await work, made.events, made.clock.armedTimers],
    [{ outcome: 'unfinished', tookMs: 5_000 }, [], 0],
  );
});

test('a preStop hook that fails is reported and does not keep the container from being stopped', async () => {
  const made = bench(() => Promise.reject(new KubeletError('Unavailable', 'runtime is down')));
  const { outcome } = await made.hooks.preStop(target({ preStop: exec }), { limitMs: 5_000 });
  assert.ok(outcome !== 'unfinished' && !outcome.ok && outcome.message.includes('runtime is down'));
  assert.deepEqual(made.events, ['Warning FailedPreStopHook web: PreStopHook failed']);
});

test('a shortened grace ends the hook at once', async () => {
  const made = bench(() => hang());
  const controller = new AbortController();
  const work = made.hooks.preStop(target({ preStop: { sleep: { seconds: 60 } } }), {
    limitMs: 60_000,
    signal: controller.signal,
  });
  await made.clock.advance(2_000);
  controller.abort();
  assert.deepEqual(await work, { outcome: 'unfinished', tookMs: 2_000 });
  assert.deepEqual(made.specialCases, ['sleepCutShort']);
});

test('run rejects with Aborted, and only then', async () => {
  for (const handler of [exec, { sleep: { seconds: 9 } }, { httpGet: { port: 80 } }] satisfies LifecycleHandler[]) {
    const made = bench(() => hang());
    made.dial.listen('10.0.0.7:80', { http: () => hang() });
    const controller = new AbortController();
    const work = made.hooks.run(target(), handler, controller.signal);
    await made.clock.settle();
    controller.abort();
    await assert.rejects(work, { kind: 'Aborted' });
  }
});

test('an exec hook runs on when the wait for it is aborted', async () => {
  for (const runsOn of [false, true]) {
    const made = bench(() => hang());
    const controller = new AbortController();
    const work = made.hooks.run({ ...target(), runsOn }, exec, controller.signal);
    await made.clock.settle();
    controller.abort();
    await assert.rejects(work, { kind: 'Aborted' });
    assert.equal(made.signals[0]?.aborted === true, !runsOn);
  }
});

test('a sleep hook takes its seconds, also zero', async () => {
  const made = bench();
  const work = made.hooks.preStop(target({ preStop: { sleep: { seconds: 3 } } }), { limitMs: 10_000 });
  await made.clock.advance(3_000);
  assert.deepEqual(await work, { outcome: { ok: true }, tookMs: 3_000 });
  const none = made.hooks.run(target(), { sleep: { seconds: 0 } }, never);
  await made.clock.advance(0);
  assert.deepEqual(await none, { ok: true });
});

test("an http hook succeeds with any answer, at the pod's address or the node's", async () => {
  const made = bench();
  made.dial.listen('10.0.0.7:80', { http: () => answer(500) });
  made.dial.listen('192.0.2.1:80', { http: () => answer(200) });
  assert.deepEqual(await made.hooks.run(target(), { httpGet: { port: 80, path: '/bye' } }, never), { ok: true });
  const onHost = target({}, undefined);
  onHost.pod.spec.hostNetwork = true;
  assert.deepEqual(await made.hooks.run(onHost, { httpGet: { port: 80 } }, never), { ok: true });
  assert.equal(
    made.dial.requests[0]?.headers.find((header) => header.name === 'User-Agent')?.value,
    'kube-lifecycle/1.36',
  );
});

test('an http hook of a pod without an address fails instead of calling this machine', async () => {
  const made = bench();
  const outcome = await made.hooks.run({ ...target(), podIp: undefined }, { httpGet: { port: 80 } }, never);
  assert.deepEqual([outcome.ok, made.dial.calls], [false, []]);
});

test('an http hook without an answer fails', async () => {
  const outcome = await bench().hooks.run(target(), { httpGet: { port: 80, path: '/bye' } }, never);
  assert.ok(!outcome.ok);
  assert.match(
    outcome.message,
    /^HTTP lifecycle hook \(\/bye\) for Container "web" in Pod "p_default\(u\)" failed - error: .*connection refused$/,
  );
});

test('an https hook answered in plain HTTP is repeated over http, without its authorization', async () => {
  const made = bench();
  made.dial.listen('10.0.0.7:443', {
    http: ({ scheme }) => {
      if (scheme === 'https') throw new KubeletError('Invalid', 'http: server gave HTTP response to HTTPS client');
      return answer(200);
    },
  });
  const httpGet = { port: 443, scheme: 'HTTPS' as const, httpHeaders: [{ name: 'Authorization', value: 'secret' }] };
  assert.deepEqual(await made.hooks.run(target(), { httpGet }, never), { ok: true });
  assert.deepEqual(made.specialCases, ['httpFallback']);
  assert.deepEqual(
    made.dial.requests.map((each) => [each.scheme, each.headers.some((header) => header.name === 'Authorization')]),
    [
      ['https', true],
      ['http', false],
    ],
  );
  assert.deepEqual(made.events, [
    'Warning LifecycleHTTPFallback -: request to HTTPS lifecycle hook 10.0.0.7:443 got HTTP response, retry with HTTP succeeded',
  ]);
});

test('a tcpSocket hook fails as in upstream, and so does a handler without an action', async () => {
  const made = bench();
  assert.deepEqual(
    [await made.hooks.run(target(), { tcpSocket: { port: 80 } }, never), await made.hooks.run(target(), {}, never)],
    [
      { ok: false, message: 'Cannot run handler: invalid handler: tcpSocket' },
      { ok: false, message: 'Cannot run handler: invalid handler' },
    ],
  );
  assert.deepEqual(made.dial.calls, []);
});
