import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  configMaps,
  deployments,
  events,
  persistentVolumeClaims,
  pods,
  resourceClaims,
  services,
} from '../client/resource-types.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../core/resource-quota.ts';
import { buildPod } from '../testing/pod-builder.ts';
import { formatAmounts } from './amounts.ts';
import { evaluatorOf } from './evaluators.ts';
import { missingOfPod, podIsInScope } from './pod-usage.ts';
import { computeQuotaUsage, concernsQuota, newQuotaStatus } from './quota-usage.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const c0 = 'spec.containers[0].resources';
const usageOf = (type: Parameters<typeof evaluatorOf>[0], object: object) =>
  formatAmounts(
    evaluatorOf(type)?.usage(object as Parameters<NonNullable<ReturnType<typeof evaluatorOf>>['usage']>[0], nowMs) ??
      new Map(),
  );
const quota = (
  hard: Record<string, string>,
  more: Partial<ResourceQuota['spec']> = {},
  status: ResourceQuota['status'] = {},
): ResourceQuota => ({ metadata: { name: 'q', namespace: 'default', uid: 'q' }, spec: { hard, ...more }, status });
const metadata = { name: 'x', namespace: 'default', uid: 'x' };

describe('the quota usage of objects', () => {
  it('counts the requests of a pod under each quota name of the resource', () => {
    const pod = buildPod({
      [c0]: {
        requests: { cpu: '100m', memory: '1Gi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi', 'x.io/gpu': '2' },
        limits: { cpu: '1', memory: '2Gi', 'hugepages-2Mi': '4Mi', 'x.io/gpu': '2' },
      },
    });
    assert.deepEqual(usageOf(pods, pod), {
      'count/pods': '1',
      pods: '1',
      cpu: '100m',
      'requests.cpu': '100m',
      'limits.cpu': '1',
      memory: '1Gi',
      'requests.memory': '1Gi',
      'limits.memory': '2Gi',
      'ephemeral-storage': '1Gi',
      'requests.ephemeral-storage': '1Gi',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
      'requests.x.io/gpu': '2',
    });
  });

  it('counts of a claim the devices of each class that it may get at most', () => {
    const requests = [
      { name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 } },
      { name: 'b', exactly: { deviceClassName: 'nic', allocationMode: 'All' } },
      {
        name: 'c',
        firstAvailable: [
          { name: 'x', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 4 },
          { name: 'y', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 3 },
          { name: 'z', deviceClassName: 'fpga', allocationMode: 'ExactCount', count: 1 },
        ],
      },
    ];
    const claim = (annotations: Record<string, string>) => ({
      metadata: { ...metadata, annotations },
      spec: { devices: { requests } },
    });
    const byClass = {
      'count/resourceclaims.resource.k8s.io': '1',
      'gpu.deviceclass.resource.k8s.io/devices': '6',
      'nic.deviceclass.resource.k8s.io/devices': '32',
      'fpga.deviceclass.resource.k8s.io/devices': '1',
    };
    assert.deepEqual(usageOf(resourceClaims, claim({})), {
      ...byClass,
      'requests.deviceclass.resource.kubernetes.io/gpu': '6',
      'requests.deviceclass.resource.kubernetes.io/nic': '32',
      'requests.deviceclass.resource.kubernetes.io/fpga': '1',
    });
    assert.deepEqual(
      usageOf(resourceClaims, claim({ 'resource.kubernetes.io/extended-resource-claim': 'true' })),
      byClass,
    );
    assert.ok(concernsQuota(resourceClaims, quota({ 'gpu.deviceclass.resource.k8s.io/devices': '1' })));
    assert.ok(!concernsQuota(resourceClaims, quota({ 'requests.nvidia.com/gpu': '1' })));
  });

  it('counts a pod that is over only as an object', () => {
    assert.deepEqual(usageOf(pods, buildPod({ 'status.phase': 'Succeeded', [c0]: { requests: { cpu: '1' } } })), {
      'count/pods': '1',
    });
    const stuck = (deletionTimestamp: string) =>
      buildPod({ 'metadata.deletionTimestamp': deletionTimestamp, 'metadata.deletionGracePeriodSeconds': 30 });
    assert.deepEqual(
      usageOf(pods, stuck('2025-12-31T23:59:00Z')),
      { 'count/pods': '1' },
      'it should have been gone by now',
    );
    assert.equal(usageOf(pods, stuck('2025-12-31T23:59:40Z'))['pods'], '1');
  });

  it('counts node ports and load balancers of services', () => {
    const service = (spec: object) =>
      usageOf(services, { metadata, spec: { ports: [{ port: 1 }, { port: 2, nodePort: 30_000 }], ...spec } });
    assert.deepEqual(service({ type: 'ClusterIP' }), {
      'count/services': '1',
      services: '1',
      'services.loadbalancers': '0',
      'services.nodeports': '0',
    });
    assert.deepEqual(service({ type: 'NodePort' }), {
      'count/services': '1',
      services: '1',
      'services.loadbalancers': '0',
      'services.nodeports': '2',
    });
    assert.deepEqual(service({ type: 'LoadBalancer' }), {
      'count/services': '1',
      services: '1',
      'services.loadbalancers': '1',
      'services.nodeports': '2',
    });
    assert.equal(service({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false })['services.nodeports'], '1');
  });

  it('counts claims in total and per class, by requested or allocated storage', () => {
    const claim = (storage: string, more: object = {}) =>
      usageOf(persistentVolumeClaims, {
        metadata,
        spec: { storageClassName: 'gold', resources: { requests: { storage } } },
        ...more,
      });
    assert.deepEqual(claim('1Gi'), {
      persistentvolumeclaims: '1',
      'count/persistentvolumeclaims': '1',
      'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      'requests.storage': '1Gi',
      'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
    });
    assert.equal(claim('1Gi', { status: { allocatedResources: { storage: '3Gi' } } })['requests.storage'], '3Gi');
    assert.equal(claim('1500m')['requests.storage'], '2');
  });

  it('counts any other kind by the piece, and events never', () => {
    assert.deepEqual(usageOf(configMaps, { metadata }), { 'count/configmaps': '1', configmaps: '1' });
    assert.deepEqual(usageOf(deployments, { metadata }), { 'count/deployments.apps': '1' });
    assert.equal(evaluatorOf(events), undefined);
    assert.equal(evaluatorOf({ group: 'events.k8s.io', plural: 'events' }), undefined);
  });

  it('wants each container to say what is bounded', () => {
    const pod = buildPod({ [c0]: { requests: { cpu: '1' } }, 'spec.initContainers': [{ name: 'init', image: 'x' }] });
    assert.equal(
      missingOfPod(['cpu', 'limits.memory', 'pods'], pod),
      'must specify cpu for: init; limits.memory for: init,main',
    );
    assert.equal(missingOfPod(['pods'], pod), undefined);
    assert.equal(
      missingOfPod(['cpu'], buildPod({ 'spec.resources': { requests: { cpu: '1' } } })),
      undefined,
      'the pod says it for all',
    );
  });

  it('knows which pods a scope is about', () => {
    const plain = buildPod();
    const bounded = buildPod({
      'spec.activeDeadlineSeconds': 5,
      [c0]: { requests: { cpu: '1' } },
      'spec.priorityClassName': 'high',
    });
    const scopes = (pod: typeof plain) =>
      (
        [
          'Terminating',
          'NotTerminating',
          'BestEffort',
          'NotBestEffort',
          'PriorityClass',
          'CrossNamespacePodAffinity',
        ] as const
      ).filter((scopeName) => podIsInScope(pod, { scopeName, operator: 'Exists' }));
    assert.deepEqual(scopes(plain), ['NotTerminating', 'BestEffort']);
    assert.deepEqual(scopes(bounded), ['Terminating', 'NotBestEffort', 'PriorityClass']);
    const term = { topologyKey: 'zone', namespaces: ['other'] };
    assert.ok(
      scopes(
        buildPod({
          'spec.affinity': {
            podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
          },
        }),
      ).includes('CrossNamespacePodAffinity'),
    );
    const priority = (operator: ScopedResourceSelectorRequirement['operator'], ...values: string[]) =>
      [plain, bounded].map((pod) => podIsInScope(pod, { scopeName: 'PriorityClass', operator, values }));
    assert.deepEqual(
      [priority('In', 'high'), priority('NotIn', 'high'), priority('DoesNotExist')],
      [
        [false, true],
        [true, false],
        [true, false],
      ],
    );
  });
});

describe('the usage of a quota', () => {
  const all = [pods, configMaps, deployments];
  const objects = {
    pods: [
      buildPod({ [c0]: { requests: { cpu: '1' } } }),
      buildPod({ [c0]: { requests: { cpu: '500m' } }, 'spec.activeDeadlineSeconds': 1 }),
    ],
    configmaps: [{ metadata }, { metadata }],
  };
  const list = (type: { readonly plural: string }) =>
    (objects as Record<string, readonly (typeof objects.configmaps)[number][]>)[type.plural] ?? [];

  it('sums up what is bounded, and only that', () => {
    const used = computeQuotaUsage(
      quota({ 'requests.cpu': '9', configmaps: '5', 'count/deployments.apps': '1', 'x.io/y': '1' }),
      all,
      list,
      nowMs,
    );
    assert.deepEqual(formatAmounts(used), {
      'requests.cpu': '1500m',
      configmaps: '2',
      'count/deployments.apps': '0',
      'x.io/y': '0',
    });
  });

  it('ignores objects outside its scopes', () => {
    assert.deepEqual(
      formatAmounts(computeQuotaUsage(quota({ 'requests.cpu': '9' }, { scopes: ['Terminating'] }), all, list, nowMs)),
      { 'requests.cpu': '500m' },
    );
    assert.deepEqual(
      formatAmounts(
        computeQuotaUsage(
          quota(
            { pods: '9' },
            { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['a'] }] } },
          ),
          all,
          list,
          nowMs,
        ),
      ),
      { pods: '0' },
    );
  });

  it('is written only when it says something new, however it is spelt', () => {
    const used = new Map([['cpu', { nanos: 1_000_000_000n, format: 'DecimalSI' as const }]]);
    assert.equal(
      newQuotaStatus(quota({ cpu: '2000m' }, {}, { hard: { cpu: '2' }, used: { cpu: '1000m' } }), used),
      undefined,
    );
    assert.deepEqual(newQuotaStatus(quota({ cpu: '3' }, {}, { hard: { cpu: '2' }, used: { cpu: '1' } }), used), {
      hard: { cpu: '3' },
      used: { cpu: '1' },
    });
    assert.deepEqual(newQuotaStatus(quota({}), new Map()), { hard: {}, used: {} });
  });

  it('knows which kinds it is about', () => {
    assert.deepEqual(
      all.map((type) => concernsQuota(type, quota({ 'limits.cpu': '1', 'count/deployments.apps': '1' }))),
      [true, false, true],
    );
  });
});
