import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import { asSystemdKeeps, limitProperties, sliceProperties, systemdMajorVersion } from './systemd-properties.ts';

const INFINITY = 2n ** 64n - 1n;
const named = (limits: CgroupLimits, cgroupVersion: 1 | 2 = 2, systemdVersion = 252): Record<string, unknown> =>
  Object.fromEntries(
    limitProperties(limits, { cgroupVersion, systemdVersion }).map(({ name, type, value }) => [
      `${name} ${type}`,
      value,
    ]),
  );

test('limits become the properties that libcontainer uses, by the version of the cgroups', () => {
  const limits = { cpuShares: 1024, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 64 * 2 ** 20, pidsMax: 77 };
  assert.deepEqual(named(limits), {
    'MemoryMax t': 67_108_864n,
    'CPUWeight t': 39n,
    'CPUQuotaPeriodUSec t': 100_000n,
    'CPUQuotaPerSecUSec t': 500_000n,
    'TasksMax t': 77n,
  });
  assert.deepEqual(named(limits, 1), {
    'MemoryLimit t': 67_108_864n,
    'CPUShares t': 1024n,
    'CPUQuotaPeriodUSec t': 100_000n,
    'CPUQuotaPerSecUSec t': 500_000n,
    'TasksMax t': 77n,
  });
});

test('no limit is infinity, unset values are not sent, and zero tasks are sent as one', () => {
  assert.deepEqual(named({ cpuQuotaUs: -1, memoryBytes: -1, pidsMax: -1 }), {
    'MemoryMax t': INFINITY,
    'CPUQuotaPerSecUSec t': INFINITY,
    'TasksMax t': INFINITY,
  });
  assert.deepEqual(
    [named({}), named({ cpuQuotaUs: 0, memoryBytes: 0 }), named({ pidsMax: 0 })],
    [{}, {}, { 'TasksMax t': 1n }],
  );
});

test('a systemd before 242 gets no period', () => {
  assert.deepEqual(named({ cpuQuotaUs: 20_000, cpuPeriodUs: 10_000 }, 2, 241), { 'CPUQuotaPerSecUSec t': 2_000_000n });
});

test('of unified only what systemd has is sent, and only on v2', () => {
  const unified = { 'memory.min': '5', 'memory.swap.max': 'max', 'memory.oom.group': '1' };
  assert.deepEqual(
    [named({ unified }), named({ unified }, 1)],
    [{ 'MemoryMin t': 5n, 'MemorySwapMax t': INFINITY }, {}],
  );
});

test('a quota is rounded up to whole percents, as systemd keeps it, and the file gets the same', () => {
  const kept = (cpuQuotaUs: number, cpuPeriodUs?: number): number | undefined =>
    asSystemdKeeps({ cpuQuotaUs, ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }) }).cpuQuotaUs;
  assert.deepEqual(
    [kept(50_000, 100_000), kept(50_100, 100_000), kept(1001), kept(5005, 10_000), kept(-1, 100_000), kept(0)],
    [50_000, 51_000, 2000, 5100, -1, 0],
  );
  assert.deepEqual(named({ cpuQuotaUs: 50_100, cpuPeriodUs: 100_000 }), {
    'CPUQuotaPeriodUSec t': 100_000n,
    'CPUQuotaPerSecUSec t': 510_000n,
  });
  assert.deepEqual(asSystemdKeeps({ memoryBytes: 5, pidsMax: 0 }), { memoryBytes: 5, pidsMax: 1 });
});

test('a slice has Wants for its parent and no WantedBy, and accounts everything', () => {
  const names = (version: 1 | 2): string[] =>
    sliceProperties('kubepods.slice', version).map(({ name, value }) => `${name}=${String(value)}`);
  assert.deepEqual(names(2).slice(1), [
    'Wants=kubepods.slice',
    'MemoryAccounting=true',
    'CPUAccounting=true',
    'TasksAccounting=true',
    'IOAccounting=true',
    'DefaultDependencies=false',
  ]);
  assert.ok(names(1).includes('BlockIOAccounting=true'));
});

test('the version is read from all formats of distributions', () => {
  assert.deepEqual(['252.39-1~deb12u2', 'v245.4-1.fc32', '"249"', 'none'].map(systemdMajorVersion), [252, 245, 249, 0]);
});
