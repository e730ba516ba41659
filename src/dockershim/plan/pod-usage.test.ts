import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MountInfo } from '../../base/mount-info.ts';
import { PodSandboxStats } from '../../cri/generated/cri-v1.ts';
import { metricDescriptors, podMetrics } from './pod-metrics.ts';
import { flatKeys, interfacesOf, podGroupOf, podMemory, soleNumber } from './pod-usage.ts';

const mount = (path: string, fsType: string, superOptions: readonly string[] = []): MountInfo => ({
  id: 1,
  device: '0:1',
  path,
  fsType,
  source: fsType,
  shared: false,
  superOptions,
});

const v1Mounts = [
  mount('/sys/fs/cgroup/unified', 'cgroup2'),
  mount('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', ['rw', 'cpu', 'cpuacct']),
  mount('/sys/fs/cgroup/memory', 'cgroup', ['rw', 'memory']),
  mount('/sys/fs/cgroup/pids', 'cgroup', ['rw', 'pids']),
];

describe('the control group of a pod', () => {
  it("is the parent of its sandbox's, for each controller of version 1", () => {
    const text = '4:pids:/kubepods/pod1/abc\n3:memory:/kubepods/pod1/abc\n2:cpu,cpuacct:/kubepods/pod1/abc\n0::/\n';
    assert.deepEqual(podGroupOf(text, v1Mounts), {
      version: 1,
      folders: new Map([
        ['cpu', '/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1'],
        ['memory', '/sys/fs/cgroup/memory/kubepods/pod1'],
        ['pids', '/sys/fs/cgroup/pids/kubepods/pod1'],
      ]),
    });
  });

  it('is one folder on version 2, also for a systemd slice', () => {
    const text = '0::/kubepods.slice/kubepods-pod1.slice/docker-abc.scope\n';
    const group = podGroupOf(text, [mount('/sys/fs/cgroup', 'cgroup2')]);
    assert.equal(group?.version, 2);
    assert.deepEqual([...new Set(group?.folders.values())], ['/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice']);
  });

  it('is unknown for a process in the root cgroup, and without mounts', () => {
    assert.equal(podGroupOf('0::/\n', [mount('/sys/fs/cgroup', 'cgroup2')]), undefined);
    assert.equal(podGroupOf('0::/a/b\n', []), undefined);
    assert.equal(podGroupOf('', v1Mounts), undefined);
  });
});

describe('what the kernel counts', () => {
  it('is read in the notation of either version', () => {
    const v1 = flatKeys('cache 5\ntotal_inactive_file 30\ntotal_rss 40\ntotal_pgfault 6\ntotal_pgmajfault 7\n');
    const v2 = flatKeys('anon 40\ninactive_file 30\npgfault 6\npgmajfault 7\n');
    const wanted = { usage: 100n, workingSet: 70n, rss: 40n, pageFaults: 6n, majorPageFaults: 7n };
    assert.deepEqual([podMemory(100n, v1), podMemory(100n, v2)], [wanted, wanted]);
    assert.equal(podMemory(10n, v2).workingSet, 0n);
  });

  it('is a number or undefined', () => {
    assert.deepEqual(['12\n', '', 'max\n', '-1', '18446744073709551615'].map(soleNumber), [
      12n,
      undefined,
      undefined,
      undefined,
      18_446_744_073_709_551_615n,
    ]);
  });

  it('is bytes and errors of each interface except the loopback', () => {
    const text = [
      'Inter-|   Receive                                                |  Transmit',
      ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed',
      '    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0',
      '  eth0:    1024      10    3    0    0     0          0         0     2048      20    4    0    0     0       0          0',
    ].join('\n');
    assert.deepEqual(interfacesOf(text), [
      { name: 'eth0', rxBytes: 1024n, rxErrors: 3n, txBytes: 2048n, txErrors: 4n },
    ]);
  });
});

describe('the metrics of a pod', () => {
  it('have one descriptor each, and as many label values as it has keys', () => {
    const timestamp = 5n;
    const stats = PodSandboxStats.fromPartial({
      attributes: { id: 's', metadata: { name: 'web', namespace: 'ns' } },
      linux: {
        cpu: { timestamp, usageCoreNanoSeconds: { value: 3_500_000_000n } },
        network: { timestamp, interfaces: [{ name: 'eth0', rxBytes: { value: 9n } }] },
        containers: [
          {
            attributes: { id: 'c', metadata: { name: 'app' } },
            memory: { timestamp, workingSetBytes: { value: 8n } },
          },
        ],
      },
    });
    const { podSandboxId, metrics, containerMetrics } = podMetrics(stats);
    const keys = new Map(metricDescriptors.map(({ name, labelKeys }) => [name, labelKeys]));
    const all = [...metrics, ...containerMetrics.flatMap((each) => each.metrics)];
    for (const { name, labelValues } of all) assert.equal(labelValues.length, keys.get(name)?.length, name);
    assert.equal(podSandboxId, 's');
    assert.deepEqual(
      all
        .filter(({ value }) => value !== undefined)
        .map(({ name, value, labelValues }) => [name, value?.value, labelValues.join(' ')]),
      [
        ['container_cpu_usage_seconds_total', 3n, 's web  POD web ns'],
        ['container_network_receive_bytes_total', 9n, 's web  POD web ns eth0'],
        ['container_memory_working_set_bytes', 8n, 'c app  app web ns'],
      ],
    );
  });
});
