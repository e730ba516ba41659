import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { serveDraDriver } from '../../../devices/testing/dra-driver-server.ts';
import { createDraDrivers } from './dra-drivers.ts';

const claim = { namespace: 'default', name: 'gpu', uid: 'c1' };
const signal = new AbortController().signal;

for (const version of ['v1', 'v1beta1'] as const) {
  test(`claims are prepared and unprepared by a driver ${version} over its socket`, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'dra-'));
    const socketPath = path.join(folder, 'driver.sock');
    const seen: unknown[] = [];
    const server = await serveDraDriver(socketPath, version, {
      nodePrepareResources: async ({ claims }) => {
        seen.push(claims);
        const device = { requestNames: ['r'], poolName: 'p', deviceName: 'g0', cdiDeviceIds: ['d/gpu=0'] };
        return { claims: { c1: { devices: [device], error: '' } } };
      },
      nodeUnprepareResources: async () => ({ claims: { c1: { error: 'busy' } } }),
    } as Parameters<typeof serveDraDriver>[2]);
    const calls: string[] = [];
    const note = ({ method, code }: { method: string; code: string }): void => void calls.push(`${method} ${code}`);
    const driver = createDraDrivers(systemClock).open(socketPath, version, note);
    try {
      const prepared = await driver.prepare([claim], signal);
      assert.deepEqual(seen, [[claim]]);
      assert.deepEqual(prepared.get('c1'), {
        error: '',
        devices: [
          { requestNames: ['r'], poolName: 'p', deviceName: 'g0', cdiDeviceIds: ['d/gpu=0'], shareId: undefined },
        ],
      });
      assert.deepEqual(await driver.unprepare([claim], signal), new Map([['c1', 'busy']]));
      const other = createDraDrivers(systemClock).open(socketPath, version === 'v1' ? 'v1beta1' : 'v1');
      await assert.rejects(other.prepare([claim], signal), { kind: 'Unimplemented' });
      other.close();
      await assert.rejects(
        async () => {
          for await (const _ of driver.watchHealth(signal)) assert.fail();
        },
        { kind: 'Unimplemented' },
      );
      const service = `/k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`;
      assert.deepEqual(calls, [`${service}/NodePrepareResources OK`, `${service}/NodeUnprepareResources OK`]);
    } finally {
      driver.close();
      await server.close();
      await rm(folder, { recursive: true });
    }
  });
}

test('the health of devices is streamed, and the connection is followed over a restart of the driver', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'dra-'));
  const socketPath = path.join(folder, 'driver.sock');
  const device = { poolName: 'p', deviceName: 'g0' };
  const serve = (): ReturnType<typeof serveDraDriver> =>
    serveDraDriver(
      socketPath,
      'v1',
      {},
      {
        nodeWatchResources: async function* () {
          yield {
            devices: [
              { device, health: 2, lastUpdatedTime: 1n, healthCheckTimeoutSeconds: 1n << 60n, message: 'hot' },
              { device: undefined, health: 9 as 0, lastUpdatedTime: 0n, healthCheckTimeoutSeconds: -1n, message: '' },
            ],
          };
        },
      },
    );
  let server = await serve();
  const driver = createDraDrivers(systemClock).open(socketPath, 'v1');
  const seen: boolean[] = [];
  let wake: () => void = () => undefined;
  const until = async (count: number): Promise<void> => {
    while (seen.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  try {
    driver.followConnection((connected) => {
      seen.push(connected);
      wake();
    });
    await until(1);
    for await (const reports of driver.watchHealth(signal))
      assert.deepEqual(reports, [
        { ...device, health: 'Unhealthy', timeoutMs: 86_400_000, message: 'hot' },
        { poolName: '', deviceName: '', health: 'Unknown', timeoutMs: undefined, message: '' },
      ]);
    await server.close();
    await until(2);
    await rm(socketPath, { force: true });
    server = await serve();
    await until(3);
    assert.deepEqual(seen, [true, false, true]);
  } finally {
    driver.close();
    await server.close();
    await rm(folder, { recursive: true });
  }
});
