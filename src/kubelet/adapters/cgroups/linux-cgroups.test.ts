import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { cgroupsContract } from '../../ports/testing/cgroups-contract.ts';
import { nameOfSlice, parentSlice, systemdPath, systemdSlice } from './linux-cgroup-names.ts';
import { detectCgroupLayout, detectSwapControl, hugePageSizesBytes } from './linux-cgroups-fs.ts';
import { cpuWeightOfShares } from './cpu-weight.ts';
import { v1Writes, v2Writes } from './linux-cgroups-limits.ts';
import { LinuxCgroups } from './linux-cgroups.ts';
import { parseMountInfo } from '../../../base/mount-info.ts';
import { ModelV2, ROOT } from '../testing/model-cgroup-v2.ts';

const v2 = (fs: ModelV2): LinuxCgroups =>
  new LinuxCgroups({
    layout: { version: 2, root: ROOT },
    driver: 'cgroupfs',
    fs,
    killProcess: (pid) => fs.groups.forEach((group) => group.pids.delete(pid)),
  });

for (const killFile of [true, false]) {
  cgroupsContract(`v2 model ${killFile ? 'with' : 'without'} cgroup.kill`, async () => {
    const fs = new ModelV2({ killFile });
    const addProcess = async (name: string): Promise<number> => {
      fs.groups.get(`${ROOT}${name}`)?.pids.add(42);
      return 42;
    };
    return { cgroups: v2(fs), base: '/test', addProcess, settle: async () => undefined, end: async () => undefined };
  });
}

test('v2: controllers are enabled in all parents when a limit needs them', async () => {
  const fs = new ModelV2();
  await v2(fs).ensure('/kubepods/burstable/podu1', {
    cpuShares: 1024,
    cpuQuotaUs: 50_000,
    cpuPeriodUs: 100_000,
    memoryBytes: -1,
    pidsMax: 10,
    hugetlbBytes: { '2MB': 0 },
    unified: { 'memory.min': '5' },
  });
  assert.deepEqual(
    [...(fs.groups.get(`${ROOT}/kubepods/burstable/podu1`)?.files ?? [])],
    [
      ['cpu.weight', '39'],
      ['cpu.max', '50000 100000'],
      ['memory.max', 'max'],
      ['pids.max', '10'],
      ['memory.min', '5'],
    ],
  );
});

test('v2: a limit without its controller in the kernel is an error that names the controller', async () => {
  const fs = new ModelV2({ offered: ['cpu'] });
  await v2(fs).ensure('/kubepods', { cpuShares: 2 });
  await assert.rejects(
    v2(fs).ensure('/kubepods', { pidsMax: 5 }),
    (error) => errorKind(error) === 'NotFound' && /pids\.max/.test((error as Error).message),
  );
});

test('shares map to weights as in upstream, at the ends and between', () => {
  assert.deepEqual(
    [0, 2, 3, 102, 1024, 262_143, 262_144, 999_999].map(cpuWeightOfShares),
    [1, 1, 1, 4, 39, 9999, 10_000, 10_000],
  );
});

test('what upstream leaves unset is not written', () => {
  assert.deepEqual(
    [
      v1Writes({}),
      v2Writes({}),
      v1Writes({ cpuQuotaUs: 0, memoryBytes: 0 }),
      v2Writes({ cpuQuotaUs: 0, cpuPeriodUs: 100_000, memoryBytes: 0 }),
    ],
    [[], [], [], []],
  );
});

test('killing everything is rejected', async () => {
  await assert.rejects(v2(new ModelV2()).kill('/'), (error) => errorKind(error) === 'Invalid');
});

test('systemd names are those of upstream', () => {
  assert.deepEqual(
    [parentSlice('/kubepods'), parentSlice('/kubepods/burstable/pod1-2')],
    ['-.slice', 'kubepods-burstable.slice'],
  );
  assert.deepEqual(
    [systemdSlice('/'), systemdSlice('/kubepods'), systemdSlice('/kubepods/burstable/pod1-2')],
    ['-.slice', 'kubepods.slice', 'kubepods-burstable-pod1_2.slice'],
  );
  assert.equal(
    systemdPath('/kubepods/burstable/pod1-2'),
    '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice',
  );
  assert.deepEqual(
    [nameOfSlice('kubepods-burstable-pod1_2.slice'), nameOfSlice('cri-containerd-abc.scope')],
    ['pod1-2', undefined],
  );
});

test('the layout is read from mountinfo: hybrid is v1, a unified root is v2, shared controllers are one tree', () => {
  const line = (path: string, fsType: string, options: string): string =>
    `31 23 0:28 / ${path} rw,relatime - ${fsType} ${fsType} rw,${options}`;
  const hybrid = [
    line('/sys/fs/cgroup', 'tmpfs', 'mode=755'),
    line('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'cpu,cpuacct'),
    line('/sys/fs/cgroup/memory', 'cgroup', 'memory'),
    line('/sys/fs/cgroup/systemd', 'cgroup', 'xattr,name=systemd'),
    line('/sys/fs/cgroup/unified', 'cgroup2', 'x'),
    line('/var/other/memory', 'cgroup', 'memory'),
  ].join('\n');
  assert.deepEqual(detectCgroupLayout(parseMountInfo(hybrid)), {
    version: 1,
    hierarchies: [
      { mountPath: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
      { mountPath: '/sys/fs/cgroup/memory', controllers: ['memory'] },
      { mountPath: '/sys/fs/cgroup/systemd', controllers: ['name=systemd'] },
    ],
    unifiedRoot: '/sys/fs/cgroup/unified',
  });
  assert.deepEqual(detectCgroupLayout(parseMountInfo(line('/sys/fs/cgroup', 'cgroup2', 'nsdelegate'))), {
    version: 2,
    root: '/sys/fs/cgroup',
  });
  assert.throws(
    () => detectCgroupLayout(parseMountInfo(line('/', 'ext4', 'x'))),
    (error) => errorKind(error) === 'Unavailable',
  );
});

test('huge page sizes are those the kernel lists, none where it has none', async () => {
  assert.deepEqual(await hugePageSizesBytes('/no/such/folder'), []);
  assert.ok((await hugePageSizesBytes()).every((bytes) => bytes >= 4096));
});

test("swap is limited where the memory controller accounts it: v1 by a file of the tree, v2 by one of the agent's own group", async () => {
  const only = (...files: string[]) => ({
    exists: async (path: string) => files.includes(path),
    read: async () => '12:pids:/x\n0::/system.slice/kubelet.service\n',
  });
  const v1 = { version: 1, hierarchies: [{ mountPath: '/sys/fs/cgroup/memory', controllers: ['memory'] }] } as const;
  const unified = { version: 2, root: ROOT } as const;
  assert.deepEqual(
    await Promise.all([
      detectSwapControl(v1, only('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes')),
      detectSwapControl(v1, only()),
      detectSwapControl({ version: 1, hierarchies: [] }, only()),
      detectSwapControl(unified, only(`${ROOT}/system.slice/kubelet.service/memory.swap.max`)),
      detectSwapControl(unified, only(`${ROOT}/memory.swap.max`)),
    ]),
    [true, false, false, true, false],
  );
});
