import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import { errorKind } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { QosTreeConfig } from './qos-tree.ts';
import { computePodLimits, computeQosShares, podCgroupName, podUidOfCgroup, qosGroups } from './qos-tree.ts';

const config: QosTreeConfig = {
  cgroupsPerQOS: true,
  cgroupRoot: '/',
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  podPidsLimit: -1,
  hugePageSizesBytes: [],
};

function pod(
  resources: readonly ({ requests?: Record<string, string>; limits?: Record<string, string> } | undefined)[],
  spec: Partial<PodSpec> = {},
): Pod {
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: resources.map((one, index) => ({ name: `c${index}`, image: 'x', resources: one })), ...spec },
  };
}

test('names follow upstream, below cgroupRoot, and vanish with cgroupsPerQOS off', () => {
  const groups = qosGroups(config);
  assert.deepEqual(groups, {
    guaranteed: '/kubepods',
    burstable: '/kubepods/burstable',
    bestEffort: '/kubepods/besteffort',
  });
  assert.ok(groups);
  assert.deepEqual(
    (['Guaranteed', 'Burstable', 'BestEffort'] as const).map((qos) => podCgroupName(groups, qos, podUid('1-2'))),
    ['/kubepods/pod1-2', '/kubepods/burstable/pod1-2', '/kubepods/besteffort/pod1-2'],
  );
  assert.equal(qosGroups({ ...config, cgroupRoot: '/a/b/' })?.bestEffort, '/a/b/kubepods/besteffort');
  assert.equal(qosGroups({ ...config, cgroupsPerQOS: false }), undefined);
  assert.deepEqual(
    [podUidOfCgroup('pod1-2'), podUidOfCgroup('burstable'), podUidOfCgroup('pod')],
    ['1-2', undefined, undefined],
  );
});

test('a uid that would lead out of its cgroup is refused', () => {
  const groups = qosGroups(config);
  assert.ok(groups);
  for (const uid of ['', '../x', 'a/b', 'a_b', '..'])
    assert.throws(
      () => podCgroupName(groups, 'Burstable', podUid(uid)),
      (error) => errorKind(error) === 'Invalid',
      uid,
    );
});

test('limits of a pod by its class', () => {
  const all = { cpu: '500m', memory: '64Mi' };
  const guaranteed = pod([
    { requests: all, limits: all },
    { requests: all, limits: all },
  ]);
  assert.deepEqual(computePodLimits(guaranteed, config), {
    cpuShares: 1024,
    cpuQuotaUs: 100_000,
    cpuPeriodUs: 100_000,
    memoryBytes: 134_217_728,
  });
  assert.deepEqual(computePodLimits(pod([{}]), config), { cpuShares: 2 });
  assert.deepEqual(
    computePodLimits(pod([{ requests: { cpu: '250m' }, limits: all }, { requests: { cpu: '250m' } }]), config),
    { cpuShares: 512 },
  );
  assert.deepEqual(
    computePodLimits(pod([{ requests: { cpu: '250m' }, limits: all }]), { ...config, podPidsLimit: 100 }),
    { cpuShares: 256, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 67_108_864, pidsMax: 100 },
  );
});

test('pod-level resources limit the pod even if its containers name none', () => {
  const limits = { cpu: '1', memory: '1Gi' };
  assert.deepEqual(computePodLimits(pod([undefined], { resources: { limits, requests: limits } }), config), {
    cpuShares: 1024,
    cpuQuotaUs: 100_000,
    cpuPeriodUs: 100_000,
    memoryBytes: 2 ** 30,
  });
});

test('an init container without a limit leaves the pod without one, unless a sidecar before it has some', () => {
  const limits = { cpu: '100m', memory: '1Mi' };
  const pod = (...initContainers: Container[]): Pod => ({
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { initContainers, containers: [{ name: 'c', image: 'x', resources: { limits, requests: { cpu: '1m' } } }] },
  });
  const init: Container = { name: 'i', image: 'x' };
  const side: Container = { name: 's', image: 'x', restartPolicy: 'Always', resources: { limits } };
  assert.deepEqual(
    [pod(init), pod(side, init), pod(init, side)].map((each) => computePodLimits(each, config).memoryBytes),
    [undefined, 2 * 2 ** 20, undefined],
  );
});

test('without CFS quota the quota is lifted', () => {
  const all = { cpu: '500m', memory: '64Mi' };
  assert.equal(
    computePodLimits(pod([{ requests: all, limits: all }]), { ...config, cpuCFSQuota: false }).cpuQuotaUs,
    -1,
  );
});

test('huge pages: the requested sizes, none of the others', () => {
  const asked = { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '8Mi' };
  const limits = computePodLimits(pod([{ requests: asked, limits: asked }]), {
    ...config,
    hugePageSizesBytes: [2 ** 21, 2 ** 30],
  });
  assert.deepEqual(limits.hugetlbBytes, { '2MB': 8 * 2 ** 20, '1GB': 0 });
});

test('class shares: best effort 2, burstable the sum of its requests, guaranteed does not count', () => {
  const all = { cpu: '4', memory: '1Gi' };
  const pods = [
    pod([{ requests: { cpu: '250m' } }]),
    pod([{ requests: { cpu: '750m' } }]),
    pod([{ requests: all, limits: all }]),
    pod([{}]),
  ];
  assert.deepEqual(
    [computeQosShares(pods), computeQosShares([])],
    [
      { burstable: 1024, bestEffort: 2 },
      { burstable: 2, bestEffort: 2 },
    ],
  );
});

test('with MemoryQoS the request of a pod is protected by its class', () => {
  const memoryQos = { throttlingFactor: 0.9, reservesRequests: true };
  const protectedFiles = (resources: Container['resources'], qos = memoryQos): unknown =>
    computePodLimits(
      {
        metadata: { name: 'a', namespace: 'n', uid: 'u' },
        spec: { containers: [{ name: 'c', image: 'x', ...(resources && { resources }) }] },
      },
      { ...config, memoryQos: qos },
    ).unified;
  const all = { cpu: '1', memory: '64Mi' };
  const bytes = String(64 * 2 ** 20);
  assert.deepEqual(protectedFiles({ requests: all, limits: all }), { 'memory.min': bytes });
  assert.deepEqual(protectedFiles({ requests: { memory: '64Mi' } }), { 'memory.low': bytes });
  assert.equal(protectedFiles(undefined), undefined);
  assert.equal(protectedFiles({ requests: all }, { ...memoryQos, reservesRequests: false }), undefined);
});
