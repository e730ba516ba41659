import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemdPath } from '../../../src/kubelet/adapters/cgroups/linux-cgroup-names.ts';
import { createLinuxCgroups } from '../../../src/kubelet/adapters/cgroups/create-cgroups.ts';
import type { CgroupDriver } from '../../../src/kubelet/adapters/cgroups/linux-cgroups.ts';
import { detectCgroupLayout } from '../../../src/kubelet/adapters/cgroups/linux-cgroups-fs.ts';
import { readMountInfo } from '../../../src/kubelet/adapters/files/linux-mountinfo.ts';
import { cgroupsContract } from '../../../src/kubelet/ports/testing/cgroups-contract.ts';

let made = 0;
const freshName = (): string => `/kubelet-test-${process.pid}-${made++}`;

async function treeFor(controller: string): Promise<string> {
  const layout = detectCgroupLayout(await readMountInfo());
  if (layout.version === 2) return layout.root;
  const tree = layout.hierarchies.find((hierarchy) => hierarchy.controllers.includes(controller))?.mountPath;
  assert.ok(tree, `controller ${controller} is mounted`);
  return tree;
}

/** Also with systemd's slices if systemd is process 1, which it is not in a container. */
const drivers: readonly CgroupDriver[] = existsSync('/run/systemd/system') ? ['cgroupfs', 'systemd'] : ['cgroupfs'];
const pathOf = (driver: CgroupDriver, name: string): string => (driver === 'systemd' ? systemdPath(name) : name);

for (const driver of drivers)
  cgroupsContract(`the kernel of this machine, by ${driver}`, async () => {
    const cgroups = await createLinuxCgroups(driver);
    const base = freshName();
    await cgroups.ensure(base, {});
    const children: ChildProcess[] = [];
    const addProcess = async (name: string): Promise<number> => {
      const child = spawn('sleep', ['60']);
      children.push(child);
      await once(child, 'spawn');
      await writeFile(`${await treeFor('memory')}${pathOf(driver, name)}/cgroup.procs`, String(child.pid));
      return child.pid ?? 0;
    };
    const gone = (child: ChildProcess): Promise<unknown> =>
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
    const settle = async (): Promise<void> => {
      await Promise.all(children.map(gone));
    };
    const end = async (): Promise<void> => {
      for (const child of children) child.kill('SIGKILL');
      await settle();
      await cgroups.remove(base);
    };
    return { cgroups, base, addProcess, settle, end };
  });

test('limits arrive in the kernel', async () => {
  const cgroups = await createLinuxCgroups('cgroupfs');
  const base = freshName();
  try {
    await cgroups.ensure(`${base}/burstable`, { cpuShares: 1024 });
    await cgroups.ensure(`${base}/burstable/pod0`, {
      cpuShares: 512,
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 50_000,
      memoryBytes: 64 * 2 ** 20,
      pidsMax: 77,
    });
    const value = async (controller: string, v1: string, v2: string): Promise<string> =>
      (
        await readFile(`${await treeFor(controller)}${base}/burstable/pod0/${cgroups.version === 1 ? v1 : v2}`, 'utf8')
      ).trim();
    assert.equal(await value('memory', 'memory.limit_in_bytes', 'memory.max'), String(64 * 2 ** 20));
    assert.equal(await value('pids', 'pids.max', 'pids.max'), '77');
    assert.equal(await value('cpu', 'cpu.shares', 'cpu.weight'), cgroups.version === 1 ? '512' : '20');
  } finally {
    await cgroups.remove(base);
  }
});

for (const driver of drivers.filter((one) => one === 'systemd'))
  test("limits of a slice are systemd's own, so that they outlast a reload of its units", async () => {
    const cgroups = await createLinuxCgroups(driver);
    const base = freshName();
    const limits = { cpuShares: 512, cpuPeriodUs: 100_000, cpuQuotaUs: 50_100, memoryBytes: 64 * 2 ** 20, pidsMax: 77 };
    try {
      await cgroups.ensure(`${base}/burstable/pod1-2`, limits);
      const before = await cgroups.read(`${base}/burstable/pod1-2`);
      assert.deepEqual([before.cpuQuotaUs, before.memoryBytes], [51_000, 64 * 2 ** 20]);
      const [code] = (await once(spawn('systemctl', ['daemon-reload']), 'exit')) as [number];
      assert.equal(code, 0);
      const { memoryUsageBytes, ...after } = await cgroups.read(`${base}/burstable/pod1-2`);
      assert.deepEqual({ ...after, memoryUsageBytes: before.memoryUsageBytes }, before, `usage ${memoryUsageBytes}`);
    } finally {
      await cgroups.remove(base);
    }
    assert.equal(await cgroups.exists(base), false);
  });
