import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it, test } from 'node:test';
import type { Probe } from '../../../api/core/probe.ts';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { containerId } from '../../model/ids.ts';
import { answer, FakeNetDial } from '../../ports/testing/fake-net-dial.ts';
import type { HttpProbeAnswer } from '../../ports/net-dial.ts';
import type { ProbeOutcome } from './run-probe.ts';
import { runProbe } from './run-probe.ts';

test('a probe connects to the pod, or to the host it names; an empty name means the pod', async () => {
  const dial = new FakeNetDial(new FakeClock());
  for (const host of ['10.0.0.5', 'gateway'])
    dial.listen(`${host}:80`, { tcp: () => undefined, http: () => answer(200) });
  const target = { id: containerId('c'), container: { name: 'web' }, podIp: '10.0.0.5' };
  const runtime = { execSync: () => Promise.reject(new Error('no command is run')) };
  const hosts = [undefined, '', 'gateway'];
  const probes: Probe[] = hosts.flatMap((host) => [
    { tcpSocket: { port: 80, ...(host === undefined ? {} : { host }) } },
    { httpGet: { port: 80, path: '/', ...(host === undefined ? {} : { host }) } },
  ]);
  for (const probe of probes)
    assert.equal(
      (await runProbe({ runtime, dial }, probe, target, { timeoutMs: 1000, signal: new AbortController().signal }))
        .kind,
      'success',
      JSON.stringify(probe),
    );
  assert.deepEqual(
    dial.calls,
    ['10.0.0.5', '10.0.0.5', 'gateway'].flatMap((host) => [`tcp ${host}:80`, `http GET http://${host}:80/`]),
  );
});

describe('a probe result', () => {
  const target = { id: containerId('c'), container: { name: 'web' }, podIp: '10.0.0.5' };
  const signal = new AbortController().signal;
  const httpGet = { port: 80, path: '/' };

  /** Probes with an answer or a failure of that kind. Counts the attempts. */
  async function outcomeOf(
    probe: Probe,
    answers: { http?: () => HttpProbeAnswer; exec?: () => number; kind?: ErrorKind; grpc?: string },
    more: { signal?: AbortSignal; podIp?: string; timeoutMs?: number } = {},
  ): Promise<{
    outcome: ProbeOutcome;
    tries: number;
    requests: { host: string; timeoutMs: number }[];
    passed: unknown[];
  }> {
    let tries = 0;
    const requests: { host: string; timeoutMs: number }[] = [];
    const passed: unknown[] = [];
    const reply = <T>(make: () => T): Promise<T> => {
      tries++;
      return answers.kind === undefined
        ? Promise.resolve(make())
        : Promise.reject(new KubeletError(answers.kind, `failed as ${answers.kind}`));
    };
    const tools = {
      runtime: {
        execSync: (_id: unknown, command: readonly string[], timeoutMs: number, options: unknown) => {
          passed.push(command, timeoutMs, options);
          return reply(() => ({
            exitCode: answers.exec?.() ?? 0,
            stdout: Buffer.from('out '),
            stderr: Buffer.from('err'),
          }));
        },
      },
      dial: {
        httpProbe: (request: { host: string; timeoutMs: number }) => {
          requests.push(request);
          return reply(() => answers.http?.() ?? answer(200));
        },
        tcpProbe: () => reply(() => undefined),
        grpcProbe: (...args: unknown[]) => {
          passed.push(...args.slice(0, 3));
          return reply(() => answers.grpc ?? 'SERVING');
        },
      },
    } as unknown as Parameters<typeof runProbe>[0];
    const where = { ...target, podIp: more.podIp ?? target.podIp };
    const limits = { timeoutMs: more.timeoutMs ?? 1000, signal: more.signal ?? signal };
    return { outcome: await runProbe(tools, probe, where, limits), tries, requests, passed };
  }

  it('follows the status of an answer: 2xx passes, 3xx passes with a warning, the rest fails', async () => {
    const kinds: string[] = [];
    for (const status of [199, 200, 299, 300, 399, 400, 503])
      kinds.push((await outcomeOf({ httpGet }, { http: () => answer(status) })).outcome.kind);
    assert.deepEqual(kinds, ['failure', 'success', 'success', 'warning', 'warning', 'failure', 'failure']);
    const redirect = (): HttpProbeAnswer => ({ kind: 'redirect', body: 'there' }) as HttpProbeAnswer;
    assert.deepEqual((await outcomeOf({ httpGet }, { http: redirect })).outcome, {
      kind: 'warning',
      output: 'Probe terminated redirects, Response body: there',
    });
  });

  it('is tried three times when it could not be made, and not when it failed or is of no interest', async () => {
    const of = async (probe: Probe, kind: ErrorKind): Promise<[string, number]> => {
      const { outcome, tries } = await outcomeOf(probe, { kind });
      return [outcome.kind, tries];
    };
    assert.deepEqual(await of({ tcpSocket: { port: 80 } }, 'Internal'), ['error', 3]);
    assert.deepEqual(await of({ tcpSocket: { port: 80 } }, 'Unavailable'), ['failure', 1]);
    assert.deepEqual(await of({ tcpSocket: { port: 80 } }, 'Timeout'), ['timeout', 1]);
    assert.deepEqual(await of({ tcpSocket: { port: 80 } }, 'Aborted'), ['gone', 1]);
    assert.deepEqual(await of({ httpGet }, 'Invalid'), ['failure', 1]);
    const command = { exec: { command: ['x'] } };
    assert.deepEqual(await of(command, 'NotFound'), ['gone', 1]);
    assert.deepEqual(await of(command, 'Aborted'), ['gone', 1]);
    assert.deepEqual(await of(command, 'Timeout'), ['timeout', 1]);
    assert.deepEqual(await of(command, 'Unavailable'), ['error', 3]);
    assert.deepEqual(await of({}, 'Internal'), ['error', 0]);
    const stopped = AbortSignal.abort();
    assert.equal((await outcomeOf({ httpGet }, { kind: 'Internal' }, { signal: stopped })).outcome.kind, 'gone');
  });

  it('of a command is its exit code, with all it printed, and it ends with the probe', async () => {
    const command = { exec: { command: ['check', '-v'] } };
    const passing = await outcomeOf(command, {});
    assert.deepEqual(passing.outcome, { kind: 'success', output: 'out err' });
    assert.deepEqual(passing.passed, [['check', '-v'], 1000, { signal }]);
    assert.equal((await outcomeOf(command, { exec: () => 1 })).outcome.kind, 'failure');
  });

  it('of gRPC is whether the service says that it serves', async () => {
    const probe = { grpc: { port: 5000 } };
    const serving = await outcomeOf(probe, {});
    assert.deepEqual([serving.outcome.kind, serving.passed], ['success', ['10.0.0.5', 5000, '']]);
    assert.deepEqual((await outcomeOf(probe, { grpc: 'NOT_SERVING' })).outcome, {
      kind: 'failure',
      output: 'service unhealthy (responded with "NOT_SERVING")',
    });
    const named = await outcomeOf({ grpc: { port: 5000, service: 'shop' } }, {});
    assert.equal(named.passed[2], 'shop');
  });

  it('sends the same request each time, until the address or the time limit is another', async () => {
    const probe = { httpGet: { port: 80, path: '/ready' } };
    const requestOf = async (more: { podIp?: string; timeoutMs?: number } = {}) =>
      (await outcomeOf(probe, {}, more)).requests[0];
    const first = await requestOf();
    assert.equal(await requestOf(), first);
    const moved = await requestOf({ podIp: '10.0.0.6' });
    assert.equal(moved?.host, '10.0.0.6');
    assert.equal((await requestOf({ podIp: '10.0.0.6', timeoutMs: 5000 }))?.timeoutMs, 5000);
  });
});
