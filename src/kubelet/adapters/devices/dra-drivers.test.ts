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
    const driver = createDraDrivers(systemClock).open(socketPath, version);
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
    } finally {
      driver.close();
      await server.close();
      await rm(folder, { recursive: true });
    }
  });
}
