import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isKind, KubeletError } from '../../../base/errors.ts';
import type { CgroupFs, CgroupLayout } from './linux-cgroups-fs.ts';
import { LinuxProcessGroups } from './linux-process-groups.ts';

const proc = mkdtempSync(join(tmpdir(), 'kts-proc-'));
after(() => rmSync(proc, { recursive: true, force: true }));
const aProcess = (pid: number, cgroup: string, isThread = false): void => {
  mkdirSync(join(proc, String(pid)), { recursive: true });
  writeFileSync(join(proc, String(pid), 'cgroup'), cgroup);
  if (!isThread) symlinkSync('/bin/true', join(proc, String(pid), 'exe'));
};

function world(layout: CgroupLayout) {
  const folders = new Set<string>();
  const writes: string[] = [];
  const gone = new Set<number>();
  const texts = new Map<string, string>();
  const fs: CgroupFs = {
    mkdir: async (path) => {
      const isNew = !folders.has(path);
      folders.add(path);
      return isNew && dirname(path) !== '';
    },
    rmdir: async () => undefined,
    read: async (path) => texts.get(path) ?? '',
    write: async (path, value) => {
      if (gone.has(Number(value)))
        throw new KubeletError('Internal', 'no such process', {
          cause: Object.assign(new Error('x'), { code: 'ESRCH' }),
        });
      writes.push(`${path} ${value}`);
    },
    directories: async () => [],
    exists: async (path) => folders.has(path),
  };
  return { folders, writes, gone, texts, groups: new LinuxProcessGroups({ layout, fs, proc, ownPid: 5 }) };
}

const v1: CgroupLayout = {
  version: 1,
  hierarchies: [
    { mountPath: '/cg/cpu', controllers: ['cpu', 'cpuacct'] },
    { mountPath: '/cg/memory', controllers: ['memory'] },
    { mountPath: '/cg/systemd', controllers: ['name=systemd'] },
  ],
};
const v2: CgroupLayout = { version: 2, root: '/cg' };

describe('groups of processes outside of pods', () => {
  it('system cgroups are made and entered in every tree of cgroup v1', async () => {
    const { folders, writes, groups } = world(v1);
    await groups.move(9, 'system/kubelet/');
    assert.deepEqual(
      [...folders],
      ['/cg/cpu/system/kubelet', '/cg/memory/system/kubelet', '/cg/systemd/system/kubelet'],
    );
    assert.deepEqual(writes, [
      '/cg/cpu/system/kubelet/cgroup.procs 9',
      '/cg/memory/system/kubelet/cgroup.procs 9',
      '/cg/systemd/system/kubelet/cgroup.procs 9',
    ]);
  });

  it('system cgroups are made and entered once on cgroup v2', async () => {
    const { writes, groups } = world(v2);
    await groups.move(9, '/kubelet');
    assert.deepEqual(writes, ['/cg/kubelet/cgroup.procs 9']);
  });

  it('system cgroups need no process that has ended, and are never the root', async () => {
    const { gone, groups } = world(v1);
    gone.add(9);
    await groups.move(9, '/kubelet');
    await assert.rejects(groups.move(9, '/a/..'), (error) => isKind(error, 'Invalid'));
  });

  it('system cgroups have a process only when it is in the group in all trees', async () => {
    aProcess(20, '3:cpu,cpuacct:/kubelet\n2:memory:/kubelet\n1:name=systemd:/kubelet\n0::/\n');
    aProcess(21, '3:cpu,cpuacct:/kubelet\n2:memory:/\n1:name=systemd:/kubelet\n');
    aProcess(22, '0::/kubelet\n');
    const first = world(v1).groups;
    assert.deepEqual([await first.isIn(20, '/kubelet/'), await first.isIn(21, '/kubelet')], [true, false]);
    const second = world(v2).groups;
    assert.deepEqual([await second.isIn(22, 'kubelet'), await second.isIn(22, '/other')], [true, false]);
  });

  it('system cgroups do not take process 1 and the threads of the kernel out of the root group', async () => {
    aProcess(30, '');
    aProcess(31, '', true);
    const one = world(v1);
    one.texts.set('/cg/memory/cgroup.procs', '1\n30\n31\n32\n');
    const two = world(v2);
    two.texts.set('/cg/cgroup.procs', '1\n31\n30\n');
    assert.deepEqual([await one.groups.rootProcesses(), await two.groups.rootProcesses()], [[30], [30]]);
  });
});
