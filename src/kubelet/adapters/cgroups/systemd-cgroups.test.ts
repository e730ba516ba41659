import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { cgroupsContract } from '../../ports/testing/cgroups-contract.ts';
import { systemdPath } from './linux-cgroup-names.ts';
import { LinuxCgroups } from './linux-cgroups.ts';
import { SystemdCgroups } from './systemd-cgroups.ts';
import { BusSystemdManager } from './systemd-manager.ts';
import { FakeSystemd } from '../testing/fake-systemd.ts';
import { ModelV2, ROOT } from '../testing/model-cgroup-v2.ts';

const fixture = (fs = new ModelV2({ offered: ['cpu', 'memory', 'pids', 'io', 'hugetlb'] })) => {
  const systemd = new FakeSystemd();
  const files = new LinuxCgroups({ layout: { version: 2, root: ROOT }, driver: 'systemd', fs });
  return { fs, systemd, cgroups: new SystemdCgroups(files, new BusSystemdManager(systemd.dial, new FakeClock())) };
};
const POD = '/kubepods/burstable/pod1-2';
const SLICE = 'kubepods-burstable-pod1_2.slice';

cgroupsContract('systemd over a v2 model', async () => {
  const { fs, cgroups } = fixture();
  const addProcess = async (name: string): Promise<number> => {
    fs.groups.get(`${ROOT}${systemdPath(name)}`)?.pids.add(42);
    return 42;
  };
  return { cgroups, base: '/test', addProcess, settle: async () => undefined, end: async () => undefined };
});

test("a pod's group is a slice below its class, with the same limits in systemd and in the files", async () => {
  const { fs, systemd, cgroups } = fixture();
  await cgroups.ensure(POD, {
    cpuShares: 1024,
    cpuQuotaUs: 50_100,
    cpuPeriodUs: 100_000,
    memoryBytes: 5,
    pidsMax: 10,
    hugetlbBytes: { '2MB': 0 },
  });
  const properties = systemd.units.get(SLICE)?.properties ?? new Map();
  assert.deepEqual(
    ['Wants', 'CPUWeight', 'CPUQuotaPerSecUSec', 'MemoryMax', 'TasksMax'].map((name) => properties.get(name)),
    [['kubepods-burstable.slice'], 39n, 510_000n, 5n, 10n],
  );
  assert.deepEqual(
    [...(fs.groups.get(`${ROOT}/kubepods.slice/kubepods-burstable.slice/${SLICE}`)?.files ?? [])],
    [
      ['cpu.weight', '39'],
      ['cpu.max', '51000 100000'],
      ['memory.max', '5'],
      ['pids.max', '10'],
      ['hugetlb.2MB.max', '0'],
    ],
  );
  assert.deepEqual([cgroups.runtimeParent(POD), await cgroups.children('/kubepods/burstable')], [SLICE, ['pod1-2']]);
});

test('limits of an existing slice are set, and a slice that systemd dropped is created again', async () => {
  const { systemd, cgroups } = fixture();
  await cgroups.ensure(POD, { cpuShares: 2 });
  await cgroups.ensure(POD, { memoryBytes: 7 });
  assert.equal(systemd.units.get(SLICE)?.properties.get('MemoryMax'), 7n);
  systemd.units.clear();
  await cgroups.update(POD, { memoryBytes: 9 });
  assert.equal(systemd.units.get(SLICE)?.properties.get('MemoryMax'), 9n);
});

test('a slice in which something runs is not stopped', async () => {
  const { fs, systemd, cgroups } = fixture();
  await cgroups.ensure(POD, {});
  const group = fs.groups.get(`${ROOT}${systemdPath(POD)}`);
  group?.pids.add(7);
  await assert.rejects(cgroups.remove(POD), (error) => errorKind(error) === 'Conflict');
  assert.ok(systemd.units.has(SLICE));
  group?.pids.clear();
  await cgroups.remove(POD);
  assert.deepEqual([systemd.units.has(SLICE), await cgroups.exists(POD)], [false, false]);
});

test('nothing is written while systemd is unavailable', async () => {
  const { fs, systemd, cgroups } = fixture();
  systemd.away = true;
  await assert.rejects(cgroups.ensure(POD, { cpuShares: 2 }), (error) => errorKind(error) === 'Unavailable');
  assert.deepEqual([...fs.groups.keys()], [ROOT]);
});
