import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Probe } from '../../../api/core/probe.ts';
import { answer } from '../../ports/testing/fake-net-dial.ts';
import type { Bench } from './testing/probe-bench.ts';
import { WEB, http, podWith, bench, get } from './testing/probe-bench.ts';

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

test('a pod of two families is probed at its address of the node’s family', async () => {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith({ readinessProbe: http }));
  made.see('c1', 'running', made.clock.nowMs(), ['fd00::7', '10.0.0.7']);
  await made.clock.advance(0);
  assert.deepEqual(made.dial.calls, ['http GET http://10.0.0.7:80/ok']);
});

test("pods on the host's network are probed at the node's address", async () => {
  const made = bench();
  made.manager.addPod(podWith({ livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }, { hostNetwork: true }));
  made.see('c1');
  await made.clock.advance(1_000);
  assert.deepEqual(made.dial.calls, ['tcp 192.0.2.1:80']);
});

test('exec: the exit code decides, the output is reported, variables from the pod spec are expanded', async () => {
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

test('exec: a failure of the runtime is not a result, and is retried up to three times', async () => {
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

test('http: headers, user agent, named port and host are sent as in upstream', async () => {
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

test('an unknown port name is an error, not a failure', async () => {
  const { events } = await readinessEvents({ tcpSocket: { port: 'none' } });
  assert.deepEqual(events, [
    'Warning Unhealthy web: Readiness probe errored and resulted in unknown state: port none not found',
  ]);
});

test('a pod without an address is not probed, in particular not on this machine', async () => {
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

test('a response with an incomplete body is not a result, as in upstream', async () => {
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
