import assert from 'node:assert/strict';
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import type { StatsDepth } from '../../ports/stats.ts';
import type { CgroupLayout } from '../cgroups/linux-cgroups-fs.ts';
import { LinuxGroupStats } from './linux-group-stats.ts';
import { linuxFsStats } from './linux-fs-stats.ts';
import { parseCpus, parseProcessGroup } from './machine-identity.ts';
import { networkBytes } from './own-usage.ts';

describe('a tree of groups', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'kts-stats-'));
    const write = (path: string, text: string): void => {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    write('cg/kubepods/pod1/abc/cpu.stat', 'usage_usec 5\nuser_usec 3\nsystem_usec 2\n');
    write('cg/kubepods/pod1/abc/memory.stat', 'anon 10\nfile 5\ninactive_file 4\n');
    write('cg/kubepods/pod1/abc/memory.current', '20\n');
    write('cg/kubepods/pod1/abc/pids.current', '3\n');
    write('cg/kubepods/pod1/abc/pids.max', 'max\n');
    write('cg/kubepods/pod1/abc/cgroup.procs', '41\n42\n');
    write('proc/41/limits', 'Max open files            1024                 4096                 files\n');
    write('proc/41/fd/0', '');
    symlinkSync('socket:[1234]', join(folder, 'proc/41/fd/1'));
    write('proc/42/fd/0', '');
    write('proc/sys/kernel/pid_max', '4194304\n');
    write('proc/sys/kernel/threads-max', '190000\n');
    write('proc/loadavg', '1.36 3.49 4.53 2/3518 3715089\n');
  });
  after(() => rmSync(folder, { recursive: true }));
  const stats = (): LinuxGroupStats =>
    new LinuxGroupStats({
      layout: { version: 2, root: join(folder, 'cg') },
      nowMs: () => 1000,
      proc: join(folder, 'proc'),
    });

  it('has no figures of I/O for the summary but its pressure', () => {
    const use = stats().use('/kubepods/pod1/abc', 'summary');
    assert.deepEqual([use?.cpu.usageNs, use?.threads], [5000, undefined]);
    assert.deepEqual([use?.io?.bytes, use?.io?.operations], [[], []]);
  });

  it('is read group by group, and missing groups are no error', () => {
    const use = stats().use('/kubepods/pod1/abc', 'all');
    assert.deepEqual(
      [use?.atMs, use?.cpu.usageNs, use?.memory.workingSetBytes, use?.threads],
      [1000, 5000, 16, { current: 3, limit: 0 }],
    );
    assert.deepEqual(
      [stats().use('/kubepods/pod2', 'all'), stats().children('/kubepods/pod2'), stats().processIds('/kubepods/pod2')],
      [undefined, [], []],
    );
    assert.deepEqual(stats().children('/kubepods/pod1'), ['abc']);
  });

  it('has the pressure of the machine on cgroup v1, which has none of single groups', () => {
    const file = (path: string, text: string): void => {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    const hierarchies = ['cpuacct', 'cpu', 'memory', 'blkio'].map((controller) => ({
      controllers: [controller],
      mountPath: join(folder, 'v1', controller),
    }));
    for (const group of ['', '/kubepods']) {
      file(`v1/cpuacct${group}/cpuacct.usage`, '5000\n');
      file(`v1/memory${group}/memory.stat`, 'total_rss 10\n');
      file(`v1/memory${group}/memory.usage_in_bytes`, '20\n');
    }
    for (const [resource, average] of [
      ['cpu', '1.50'],
      ['memory', '2.50'],
      ['io', '3.50'],
    ])
      file(
        `proc/pressure/${resource}`,
        `some avg10=${average} avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n`,
      );
    const layout = { version: 1, hierarchies } as unknown as CgroupLayout;
    const onV1 = new LinuxGroupStats({ layout, nowMs: () => 1000, proc: join(folder, 'proc') });
    const averages = (path: string, depth: StatsDepth): unknown[] => {
      const { cpu, memory, io } = onV1.use(path, depth) ?? {};
      return [cpu, memory, io].map((each) => each?.pressure?.some.avg10);
    };
    for (const depth of ['summary', 'all'] as const) assert.deepEqual(averages('/', depth), [1.5, 2.5, 3.5]);
    assert.deepEqual(averages('/kubepods', 'all'), [undefined, undefined, undefined]);
    assert.deepEqual(averages('/', 'cpuAndMemory'), [undefined, undefined, undefined]);
    assert.equal(onV1.use('/', 'summary')?.cpu.usageNs, 5000);
  });

  it('has processes, their open files and sockets, and the limit of the first', () => {
    const { openFiles, ...use } = stats().processUse('/kubepods/pod1/abc');
    assert.deepEqual(use, { processes: 2, sockets: 1, openFilesLimit: 1024 });
    assert.equal(openFiles, 3);
    assert.deepEqual(stats().tasks(), { current: 3518, limit: 190_000 });
  });
});

describe('a folder on a disk', () => {
  it('is measured by its blocks, each file once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kts-tree-'));
    const fs = linuxFsStats(() => 0);
    try {
      mkdirSync(join(folder, 'sub'));
      const { usedBytes: empty, inodesUsed } = await fs.tree(folder, 1000);
      assert.equal(inodesUsed, 2);
      writeFileSync(join(folder, 'sub/file'), Buffer.alloc(100_000, 1));
      linkSync(join(folder, 'sub/file'), join(folder, 'again'));
      const full = await fs.tree(folder, 1000);
      assert.equal(full.inodesUsed, 3);
      assert.ok(full.usedBytes - empty >= 100_000 && full.usedBytes - empty < 120_000, `${full.usedBytes - empty}`);
      assert.ok((await fs.fileSystem(folder)).capacityBytes > (await fs.fileSystem(folder)).freeBytes);
      const [own, asked] = await Promise.all([fs.fileSystem(folder), fs.remoteFileSystem(folder)]);
      assert.deepEqual([asked.capacityBytes, asked.inodes], [own.capacityBytes, own.inodes]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const isOtherDisk = statSync('/dev').dev !== statSync('/dev/shm').dev;
  it('is measured without the disks that are mounted in it', {
    skip: !isOtherDisk && 'one disk',
  }, async () => {
    const fs = linuxFsStats(() => 0);
    const { inodesUsed: before } = await fs.tree('/dev', 1000);
    const folder = mkdtempSync('/dev/shm/kts-tree-');
    try {
      // This is far more than other programs change in /dev meanwhile.
      for (let index = 0; index < 300; index++) writeFileSync(join(folder, String(index)), '');
      const { inodesUsed } = await fs.tree('/dev', 1000);
      assert.ok(inodesUsed < before + 300, `${before}, then ${inodesUsed}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('that takes too long fails', async () => {
    let now = 0;
    await assert.rejects(linuxFsStats(() => (now += 100)).tree('/etc', 1000), (error) => isKind(error, 'Timeout'));
    await assert.rejects(linuxFsStats(() => 0).tree('/nowhere/at/all', 1000), (error) => isKind(error, 'NotFound'));
  });
});

describe('the machine', () => {
  it('has as many cores as its processors report', () => {
    const cpu = (processor: number, socket: number, core: number): string =>
      `processor\t: ${processor}\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n`;
    assert.deepEqual(parseCpus([cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 0, 1), cpu(3, 1, 0)].join('\n')), {
      cores: 4,
      physicalCores: 3,
      sockets: 2,
    });
    assert.deepEqual(parseCpus('processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n'), {
      cores: 2,
      physicalCores: 2,
      sockets: 1,
    });
  });

  it('returns the group of a process only where it has a single one', () => {
    assert.equal(
      parseProcessGroup('4:memory:/system.slice/kubelet.service\n1:cpu,cpuacct:/system.slice/kubelet.service\n0::/\n'),
      '/system.slice/kubelet.service',
    );
    assert.equal(parseProcessGroup('4:memory:/a\n1:cpu:/b\n'), undefined);
    assert.equal(parseProcessGroup('0::/system.slice/kubelet.service\n'), '/system.slice/kubelet.service');
    assert.equal(parseProcessGroup('0::/\n'), undefined);
  });

  it('counts bytes on the wire', () => {
    assert.deepEqual(
      networkBytes('TcpExt: A B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 111 222\n'),
      { receivedBytes: 111, sentBytes: 222 },
    );
  });
});
