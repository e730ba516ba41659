import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { chooseCgroupDriver } from './choose-cgroup-driver.ts';

const failing = (kind: 'Unimplemented' | 'Internal') => ({
  cgroupDriver: () => Promise.reject(new KubeletError(kind, 'no', { op: 'RuntimeConfig' })),
});

describe('the cgroup driver', () => {
  it("is the runtime's", async () => {
    const runtime = { cgroupDriver: () => Promise.resolve('systemd' as const) };
    assert.deepEqual(await chooseCgroupDriver(runtime, 'cgroupfs', silentLogger), {
      driver: 'systemd',
      isRuntimeOutdated: false,
    });
  });

  it('is the configured one where the runtime does not implement RuntimeConfig, which makes it outdated', async () => {
    assert.deepEqual(await chooseCgroupDriver(failing('Unimplemented'), 'cgroupfs', silentLogger), {
      driver: 'cgroupfs',
      isRuntimeOutdated: true,
    });
  });

  it('is the configured one where the call fails, which says nothing about the version', async () => {
    assert.deepEqual(await chooseCgroupDriver(failing('Internal'), 'systemd', silentLogger), {
      driver: 'systemd',
      isRuntimeOutdated: false,
    });
  });
});
