import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Probe } from '../../../api/core/probe.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { containerId } from '../../model/ids.ts';
import { answer, FakeNetDial } from '../../ports/testing/fake-net-dial.ts';
import { runProbe } from './run-probe.ts';

test('a probe asks the pod, or the host it names; an empty name is the pod', async () => {
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
