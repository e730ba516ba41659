import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReadControl } from './group-files.ts';
import { v1Format, v2Format } from './group-files.ts';

/** The files of a real machine, by name only. */
const files =
  (content: Readonly<Record<string, string>>): ReadControl =>
  (_controller, file) =>
    content[file];

const v1Stat =
  'cache 4096\nrss 8192\npgfault 11\npgmajfault 1\nhierarchical_memory_limit 67108864\ntotal_cache 1048576\ntotal_rss 2097152\ntotal_mapped_file 4096\ntotal_swap 512\ntotal_pgfault 99\ntotal_inactive_file 524288\ntotal_active_file 262144\n';
const v2Stat =
  'anon 2097152\nfile 1048576\nkernel 65536\nfile_mapped 4096\ninactive_file 524288\nactive_file 262144\nslab 1000\npgfault 11\npgmajfault 1\n';

describe('cgroup v1', () => {
  const read = files({
    'cpuacct.usage': '123456789\n',
    'cpuacct.stat': 'user 10\nsystem 5\n',
    'cpu.stat': 'nr_periods 7\nnr_throttled 3\nthrottled_time 42\nnr_bursts 1\nburst_time 2\n',
    'memory.stat': v1Stat,
    'memory.usage_in_bytes': '3145728\n',
    'memory.max_usage_in_bytes': '4194304\n',
    'memory.failcnt': '6\n',
    'memory.kmem.usage_in_bytes': '65536\n',
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
    'cpu.shares': '204\n',
    'cpu.cfs_period_us': '100000\n',
    'cpu.cfs_quota_us': '20000\n',
    'memory.limit_in_bytes': '67108864\n',
    'memory.memsw.limit_in_bytes': '9223372036854771712\n',
    'memory.soft_limit_in_bytes': '9223372036854771712\n',
    'blkio.throttle.io_service_bytes_recursive': '253:0 Read 4096\n253:0 Total 4096\nTotal 4096\n',
  });

  it('has CPU and memory including child groups, and page faults of the group alone', () => {
    assert.deepEqual(v1Format.cpu(read, 'all'), {
      usageNs: 123_456_789,
      userNs: 100_000_000,
      systemNs: 50_000_000,
      periods: 7,
      throttledPeriods: 3,
      throttledNs: 42,
      burstPeriods: 1,
      burstNs: 2,
    });
    assert.deepEqual(v1Format.memory(read, 'all'), {
      usageBytes: 3_145_728,
      workingSetBytes: 3_145_728 - 524_288,
      rssBytes: 2_097_152,
      cacheBytes: 1_048_576,
      mappedFileBytes: 4096,
      swapBytes: 512,
      activeFileBytes: 262_144,
      inactiveFileBytes: 524_288,
      pageFaults: 11,
      majorPageFaults: 1,
      kernelBytes: 65_536,
      maxUsageBytes: 4_194_304,
      failures: 6,
      oomKills: 2,
    });
    assert.deepEqual(v1Format.io(read, () => '/dev/vda', false).bytes[0]?.counts.get('Read'), 4096);
  });

  it('shows which limits are unset', () => {
    assert.deepEqual(v1Format.limits(read), {
      cpuShares: 204,
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 20_000,
      memoryBytes: 67_108_864,
      memorySwapBytes: Infinity,
      memoryReservationBytes: Infinity,
    });
    assert.equal(v1Format.limits(files({ 'cpu.cfs_quota_us': '-1\n' })).cpuQuotaUs, 0);
  });

  it('reads only three files if CPU and memory are enough', () => {
    const asked: string[] = [];
    const counting: ReadControl = (controller, file) => {
      asked.push(file);
      return read(controller, file);
    };
    v1Format.cpu(counting, 'cpuAndMemory');
    v1Format.memory(counting, 'cpuAndMemory');
    assert.deepEqual(asked, ['cpuacct.usage', 'memory.stat', 'memory.usage_in_bytes']);
  });

  it("uses the I/O scheduler's counters if it has any", () => {
    const bfq = files({
      'blkio.bfq.io_serviced_recursive': '253:0 Read 7\nTotal 7\n',
      'blkio.throttle.io_serviced_recursive': '253:0 Read 9\n',
    });
    assert.deepEqual(
      [v1Format.isScheduled(bfq), v1Format.isScheduled(files({ 'blkio.bfq.io_serviced_recursive': 'Total 0\n' }))],
      [true, false],
    );
    assert.deepEqual(
      [true, false].map((scheduled) => v1Format.io(bfq, () => '', scheduled).operations[0]?.counts.get('Read')),
      [7, 9],
    );
  });

  it('reports a removed group', () => {
    assert.deepEqual([v1Format.cpu(files({}), 'all'), v1Format.memory(files({}), 'all')], [undefined, undefined]);
  });
});

describe('cgroup v2', () => {
  const pressure = 'some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n';
  const read = files({
    'cpu.stat':
      'usage_usec 1000\nuser_usec 600\nsystem_usec 400\nnr_periods 7\nnr_throttled 3\nthrottled_usec 42\nnr_bursts 1\nburst_usec 2\n',
    'cpu.pressure': pressure,
    'memory.stat': v2Stat,
    'memory.current': '3145728\n',
    'memory.swap.current': '512\n',
    'memory.peak': '4194304\n',
    'memory.events': 'low 0\nhigh 0\nmax 6\noom 3\noom_kill 2\n',
    'memory.pressure': pressure,
    'cpu.weight': '8\n',
    'cpu.max': '20000 100000\n',
    'memory.max': '67108864\n',
    'memory.swap.max': '0\n',
    'memory.min': '1024\n',
    'io.stat': '253:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n',
    'io.pressure': pressure,
  });

  it('has the same values in the same units', () => {
    assert.deepEqual(v2Format.cpu(read, 'all'), {
      usageNs: 1_000_000,
      userNs: 600_000,
      systemNs: 400_000,
      periods: 7,
      throttledPeriods: 3,
      throttledNs: 42_000,
      burstPeriods: 1,
      burstNs: 2000,
      pressure: {
        some: { totalUs: 5, avg10: 0, avg60: 0, avg300: 0 },
        full: { totalUs: 4, avg10: 0, avg60: 0, avg300: 0 },
      },
    });
    const { pressure: held, ...memory } = v2Format.memory(read, 'all') ?? {};
    assert.deepEqual(memory, {
      usageBytes: 3_145_728,
      workingSetBytes: 3_145_728 - 524_288,
      rssBytes: 2_097_152,
      cacheBytes: 1_048_576,
      mappedFileBytes: 4096,
      swapBytes: 512,
      activeFileBytes: 262_144,
      inactiveFileBytes: 524_288,
      pageFaults: 11,
      majorPageFaults: 1,
      kernelBytes: 65_536,
      maxUsageBytes: 4_194_304,
      failures: 6,
      oomKills: 2,
    });
    assert.deepEqual([held?.some.totalUs, v2Format.io(read, () => '', false).pressure?.full.totalUs], [5, 4]);
  });

  it('shows weights as the shares they were computed from', () => {
    assert.deepEqual(v2Format.limits(read), {
      cpuShares: 2 + Math.floor((7 * 262_142) / 9999),
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 20_000,
      memoryBytes: 67_108_864,
      memorySwapBytes: 0,
      memoryReservationBytes: 1024,
    });
    assert.deepEqual(
      v2Format.limits(files({ 'cpu.max': 'max 100000\n', 'memory.max': 'max\n', 'memory.swap.max': 'max\n' })),
      {
        cpuShares: 0,
        cpuPeriodUs: 100_000,
        cpuQuotaUs: 0,
        memoryBytes: Infinity,
        memorySwapBytes: Infinity,
        memoryReservationBytes: 0,
      },
    );
  });

  it('adds up the root, which has no total of its own', () => {
    assert.equal(v2Format.memory(files({ 'memory.stat': v2Stat }), 'all')?.usageBytes, 2_097_152 + 1_048_576);
  });
});
