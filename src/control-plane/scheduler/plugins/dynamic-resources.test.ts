import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import { CLAIM_FINALIZER } from '../../../api/resource/device-config.ts';
import type { DeviceClaim, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Device, ResourceSlice, ResourceSliceSpec } from '../../../api/resource/resource-slice.ts';
import { deviceClasses, pods, resourceClaims, resourceSlices } from '../../../api/client/resource-types.ts';
import { forbidden } from '../../../api/status/api-status-error.ts';
import { computeExtendedRequests } from '../devices/extended-claim.ts';
import { ExtendedResourceIndex, extendedResourcesOf } from '../devices/extended-resources.ts';
import { buildNode, buildPod, decide, outcomeOf } from '../testing/builders.ts';
import { filterAll } from '../testing/run-plugin.ts';
import { SchedulerWorld } from '../testing/scheduler-world.ts';
import { dynamicResources } from './dynamic-resources.ts';

const gpu: DeviceClass = { metadata: { name: 'gpu', namespace: '', uid: 'k' }, spec: {} };
const nodes = [buildNode('a'), buildNode('b')];
const exactly = (more: object = {}): object => ({
  deviceClassName: 'gpu',
  allocationMode: 'ExactCount',
  count: 1,
  ...more,
});
const claim = (devices: object, more: Partial<ResourceClaim> = {}, name = 'c'): ResourceClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' },
  spec: { devices: devices as DeviceClaim },
  ...more,
});
const one = (more: object = {}): object => ({ requests: [{ name: 'r', exactly: exactly(more) }] });
const slice = (nodeName: string | undefined, devices: readonly object[], more: object = {}): ResourceSlice => ({
  metadata: { name: `slice-${nodeName ?? 'all'}`, namespace: '', uid: 's' },
  spec: {
    driver: 'd.example.com',
    pool: { name: nodeName ?? 'all', generation: 1, resourceSliceCount: 1 },
    ...(nodeName === undefined ? { allNodes: true } : { nodeName }),
    devices: devices as Device[],
    ...more,
  } as ResourceSliceSpec,
});
const user = (...names: readonly string[]): Pod =>
  buildPod('web', { spec: { resourceClaims: names.map((name) => ({ name, resourceClaimName: name })) } });
const results = (of: ResourceClaim | undefined): string[] =>
  (of?.status?.allocation?.devices.results ?? []).map(({ request, pool, device }) => `${request}=${pool}/${device}`);
const allocated = (device: string, more: object = {}): Partial<ResourceClaim> => ({
  status: {
    allocation: { devices: { results: [{ request: 'r', driver: 'd.example.com', pool: 'a', device, ...more }] } },
  },
});

const world = { nodes, deviceClasses: [gpu], resourceSlices: [slice('b', [{ name: 'g0' }])] };
const noDevice = '!cannot allocate all claims';

it('only nodes with a free device fit a claim', () => {
  assert.deepEqual(filterAll(dynamicResources, user('c'), { ...world, resourceClaims: [claim(one())] }), [
    noDevice,
    '',
  ]);
  const decision = decide({ ...world, resourceClaims: [claim(one())] }, user('c'));
  assert.equal(outcomeOf(decision), 'b');
  assert.deepEqual(decision.kind === 'placed' && decision.claims[0]?.allocation, {
    devices: { results: [{ request: 'r', driver: 'd.example.com', pool: 'b', device: 'g0' }] },
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }] },
  });
});

it('reports a pod with unusable claims in upstream’s words', () => {
  const rows: readonly (readonly [readonly ResourceClaim[], string])[] = [
    [[], '!resourceclaim.resource.k8s.io "c" not found'],
    [
      [
        claim(one(), {
          metadata: { name: 'c', namespace: 'default', uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' },
        }),
      ],
      '!resourceclaim "c" is being deleted',
    ],
    [[claim(one({ deviceClassName: 'x' }))], '!request r: device class x does not exist'],
    [
      [claim(one({ selectors: [{ cel: { expression: '1' } }] }))],
      '!request r: selector #0: must evaluate to bool or the unknown type, not int',
    ],
  ];
  for (const [claims, text] of rows)
    assert.equal(filterAll(dynamicResources, user('c'), { ...world, resourceClaims: claims }), text);
  assert.equal(filterAll(dynamicResources, buildPod('web'), world), 'skip');
  const templated = buildPod('web', { spec: { resourceClaims: [{ name: 'c', resourceClaimTemplateName: 't' }] } });
  assert.deepEqual(dynamicResources.preEnqueue?.(templated)?.reasons, [
    'pod "default/web": ResourceClaim not created yet',
  ]);
});

it('a device must match the selectors of its class and of its request', () => {
  const offered = [
    { name: 'g0', attributes: { model: { string: 'a' }, 'x.org/cores': { int: 4 }, v: { version: '1.2.0' } } },
    {
      name: 'g1',
      attributes: { model: { string: 'b' }, 'x.org/cores': { int: 8 }, v: { version: '2.0.0' } },
      capacity: { memory: { value: '16Gi' } },
    },
  ];
  const selectedBy = (expression: string, deviceClass: DeviceClass = gpu): string => {
    const cluster = {
      ...world,
      deviceClasses: [deviceClass],
      resourceSlices: [slice('b', offered)],
      resourceClaims: [claim(one({ selectors: [{ cel: { expression } }] }))],
    };
    const decision = decide(cluster, user('c'));
    if (decision.kind !== 'placed') return 'none';
    return decision.claims[0]?.allocation?.devices.results?.[0]?.device ?? '';
  };
  const ofDriver = "cel.bind(a, device.attributes['d.example.com'], a.model == 'b')";
  assert.equal(selectedBy(ofDriver), 'g1');
  assert.equal(selectedBy("device.attributes['x.org'].cores > 4"), 'g1');
  assert.equal(selectedBy("device.attributes['d.example.com'].v.isLessThan(semver('2.0.0'))"), 'g0');
  assert.equal(
    selectedBy("device.capacity['d.example.com'].?memory.orValue(quantity('0')).isGreaterThan(quantity('8Gi'))"),
    'g1',
  );
  assert.equal(selectedBy("'nothing' in device.attributes['unknown.org']"), 'none');
  const onlyFirst = {
    ...gpu,
    spec: { selectors: [{ cel: { expression: "device.attributes['d.example.com'].model == 'a'" } }] },
  };
  assert.equal(selectedBy('true', onlyFirst), 'g0');
  assert.equal(selectedBy(ofDriver, onlyFirst), 'none');
});

it('a selector that fails for a device keeps the pod pending and reports the reason', () => {
  const broken = claim(one({ selectors: [{ cel: { expression: "device.attributes['x.org'].cores > 4" } }] }));
  assert.deepEqual(filterAll(dynamicResources, user('c'), { ...world, resourceClaims: [broken] }), [
    noDevice,
    '!request r: selector #0: CEL runtime error: no such key: cores (device d.example.com/b/g0)',
  ]);
});

it('pods with an allocated claim fit only nodes that can use its devices', () => {
  const local = {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['a'] }] }],
  };
  const there = claim(one(), { status: { allocation: { devices: {}, nodeSelector: local } } });
  assert.deepEqual(filterAll(dynamicResources, user('c'), { ...world, resourceClaims: [there] }), [
    '',
    '!resourceclaim not available on the node',
  ]);
});

/** Whether node a can serve claim c with these devices, together with other claims. */
function fits(devices: object, offered: readonly object[], others: readonly ResourceClaim[] = [], more = {}): boolean {
  const answer = filterAll(dynamicResources, user('c'), {
    ...world,
    nodes: [buildNode('a')],
    resourceSlices: [slice('a', offered, more)],
    resourceClaims: [claim(devices), ...others],
  });
  return answer[0] === '';
}

it('a device in use is not allocated again, except for administrative access', () => {
  const g0 = [{ name: 'g0' }];
  const other = claim(one(), allocated('g0'), 'other');
  assert.equal(fits(one(), g0, [other]), false);
  assert.equal(fits(one({ adminAccess: true }), g0, [other]), true);
  assert.equal(fits(one(), g0, [claim(one(), allocated('g0', { adminAccess: true }), 'other')]), true);
});

it('requests may ask for a number of devices, all devices, or alternatives', () => {
  const two = [{ name: 'g0' }, { name: 'g1' }];
  assert.equal(fits(one({ count: 2 }), two), true);
  assert.equal(fits(one({ count: 3 }), two), false);
  const all = { allocationMode: 'All', count: undefined };
  assert.equal(fits(one(all), two), true);
  assert.equal(fits(one(all), two, [claim(one(), allocated('g1'), 'other')]), false);
  assert.equal(fits(one(all), []), false);
  assert.equal(fits(one(all), two, [], { pool: { name: 'a', generation: 1, resourceSliceCount: 2 } }), false);
  const firstAvailable = [
    { name: 'many', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 3 },
    { name: 'few', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 },
  ];
  const decision = decide(
    { ...world, resourceClaims: [claim({ requests: [{ name: 'r', firstAvailable }] })] },
    user('c'),
  );
  assert.deepEqual(
    decision.kind === 'placed' &&
      decision.claims[0]?.allocation?.devices.results?.map(({ request, device }) => `${request} ${device}`),
    ['r/few g0'],
  );
});

it('constraints apply to all devices of a claim, and the search tries other devices to satisfy them', () => {
  const numa = (name: string, int: number): object => ({ name, attributes: { numa: { int } } });
  const offered = [numa('g0', 0), numa('g1', 1), numa('g2', 1), { name: 'g3' }];
  const pair = (constraint: object): object => ({ ...one({ count: 2 }), constraints: [constraint] });
  assert.equal(fits(pair({ matchAttribute: 'd.example.com/numa' }), offered), true);
  assert.equal(fits(pair({ matchAttribute: 'other.example.com/numa' }), offered), false);
  assert.equal(fits(pair({ matchAttribute: 'd.example.com/numa' }), [numa('g0', 0), numa('g1', 1)]), false);
  assert.equal(fits(pair({ distinctAttribute: 'd.example.com/numa' }), [numa('g1', 1), numa('g2', 1)]), false);
  assert.equal(fits(pair({ distinctAttribute: 'd.example.com/numa' }), offered), true);
});

it('claims do not get tainted devices unless they tolerate the taints', () => {
  const tainted = [{ name: 'g0', taints: [{ key: 'broken', value: 'yes', effect: 'NoSchedule' }] }];
  assert.equal(fits(one(), tainted), false);
  assert.equal(fits(one({ tolerations: [{ key: 'broken', operator: 'Exists' }] }), tainted), true);
  assert.equal(fits(one({ tolerations: [{ key: 'broken', operator: 'Equal', value: 'no' }] }), tainted), false);
  assert.equal(fits(one(), [{ name: 'g0', taints: [{ key: 'x', effect: 'None' }] }]), true);
});

it('partitions of a device share its counters', () => {
  const part = (name: string, value: string): object => ({
    name,
    consumesCounters: [{ counterSet: 'card', counters: { memory: { value } } }],
  });
  const parts = [part('half-0', '20Gi'), part('half-1', '20Gi'), part('whole', '40Gi')];
  const counters = { sharedCounters: [{ name: 'card', counters: { memory: { value: '40Gi' } } }] };
  assert.equal(fits(one({ count: 2 }), parts, [], counters), true);
  assert.equal(fits(one({ count: 3 }), parts, [], counters), false);
  assert.equal(fits(one({ count: 1 }), parts, [claim(one(), allocated('whole'), 'other')], counters), false);
  assert.equal(fits(one({ count: 1 }), parts, [claim(one(), allocated('half-1'), 'other')], counters), true);
});

it('only the newest generation of a pool counts', () => {
  const old = { ...slice('a', [{ name: 'g0' }]), metadata: { name: 'old', namespace: '', uid: 'o' } };
  const newest = slice('a', [], { pool: { name: 'a', generation: 2, resourceSliceCount: 1 } });
  const setting = { ...world, nodes: [buildNode('a')], resourceClaims: [claim(one())] };
  assert.deepEqual(filterAll(dynamicResources, user('c'), { ...setting, resourceSlices: [newest, old] }), [noDevice]);
  assert.deepEqual(filterAll(dynamicResources, user('c'), { ...setting, resourceSlices: [old] }), ['']);
});

it('of two pods that want the same device, one runs, and the other runs once the first claim is deleted', async () => {
  const scheduler = new SchedulerWorld({ lagMs: 300 });
  scheduler.api.seed(deviceClasses, gpu);
  scheduler.api.seed(resourceSlices, slice(undefined, [{ name: 'g0' }]));
  for (const name of ['one', 'two']) {
    scheduler.api.seed(resourceClaims, claim(one(), {}, name));
    scheduler.api.seed(pods, buildPod(name, { spec: { resourceClaims: [{ name: 'dev', resourceClaimName: name }] } }));
  }
  scheduler.addNode(buildNode('n'));
  scheduler.start();
  await scheduler.clock.advance(5_000);
  const of = (name: string): ResourceClaim | undefined =>
    scheduler.api.peek(resourceClaims, { namespace: 'default', name });
  const placed = (): string[] =>
    scheduler.api.all(pods).flatMap(({ metadata, spec }) => (spec.nodeName === 'n' ? [metadata.name] : []));
  const [winner = ''] = placed();
  const loser = winner === 'one' ? 'two' : 'one';
  assert.equal(placed().length, 1);
  assert.deepEqual(results(of(winner)), ['r=all/g0']);
  assert.deepEqual(of(winner)?.metadata.finalizers, [CLAIM_FINALIZER]);
  assert.deepEqual(
    of(winner)?.status?.reservedFor?.map(({ resource, name }) => `${resource}/${name}`),
    [`pods/${winner}`],
  );
  assert.equal(of(loser)?.status?.allocation, undefined);
  scheduler.api.remove(resourceClaims, { namespace: 'default', name: winner });
  await scheduler.clock.advance(30_000);
  assert.equal(placed().length, 2);
  assert.deepEqual(results(of(loser)), ['r=all/g0']);
  await scheduler.stop();
});

const served: DeviceClass = {
  metadata: { name: 'gpu', namespace: '', uid: 'k' },
  spec: { extendedResourceName: 'example.com/gpu' },
};
const wants = (count: number, resource = 'example.com/gpu'): Pod =>
  buildPod('web', { requests: { [resource]: String(count) } });

it('a device class serves an extended resource that no device plugin provides', () => {
  const plugin = buildNode('c', { allocatable: { 'example.com/gpu': '4' } });
  const offered = {
    nodes: [...nodes, plugin],
    deviceClasses: [served],
    resourceSlices: [slice('b', [{ name: 'g0' }])],
  };
  for (const resource of ['example.com/gpu', 'deviceclass.resource.kubernetes.io/gpu'])
    assert.deepEqual(filterAll(dynamicResources, wants(1, resource), offered).slice(0, 2), [noDevice, ''], resource);
  assert.deepEqual(filterAll(dynamicResources, wants(1), offered), [noDevice, '', '']);
  assert.equal(filterAll(dynamicResources, wants(1, 'example.com/nic'), offered), 'skip');
  const decision = decide({ ...offered, nodes }, wants(1));
  assert.ok(decision.kind === 'placed');
  assert.equal(decision.nodeName, 'b');
  const [entry] = decision.claims;
  assert.deepEqual(entry?.creates, [
    { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
  ]);
  assert.deepEqual(
    entry?.allocation?.devices.results?.map(({ device }) => device),
    ['g0'],
  );
  const onPlugin = decide({ ...offered, nodes: [plugin] }, wants(1));
  assert.deepEqual(onPlugin.kind === 'placed' && onPlugin.claims, []);
});

it('init containers reuse devices of containers that start later, and only the largest shortage is added', () => {
  const container = (name: string, count: number, more: object = {}): object => ({
    name,
    image: 'i',
    resources: { requests: { 'example.com/gpu': String(count) } },
    ...more,
  });
  const pod = buildPod('web', {
    spec: {
      initContainers: [
        container('first', 3),
        container('sidecar', 1, { restartPolicy: 'Always' }),
        container('second', 4),
      ],
      containers: [container('main', 2)],
    },
  });
  const { requests, mappings } = computeExtendedRequests(pod, ['example.com/gpu'], extendedResourcesOf([served]));
  assert.deepEqual(
    requests.map(({ name, exactly: each }) => `${name} ${each?.count}`),
    ['container-1-request-0 1', 'container-2-request-0 2', 'container-3-request-0 2'],
  );
  assert.deepEqual(
    mappings.map(({ containerName, requestName }) => `${containerName} ${requestName}`),
    [
      'sidecar container-1-request-0',
      'main container-3-request-0',
      'first container-1-request-0',
      'first container-3-request-0',
      'second container-3-request-0',
      'second container-2-request-0',
    ],
  );
});

it('the newest of several classes with the same resource name serves it', () => {
  const named = (name: string, creationTimestamp: string): DeviceClass => ({
    metadata: { name, namespace: '', uid: name, creationTimestamp },
    spec: { extendedResourceName: 'x.com/a' },
  });
  const [old, young] = [named('a', '2026-01-01T00:00:00Z'), named('b', '2026-02-01T00:00:00Z')];
  const index = new ExtendedResourceIndex();
  index.set(undefined, young);
  index.set(undefined, old);
  assert.equal(index.classOf('x.com/a'), young);
  index.set(young, { ...young, spec: {} });
  assert.equal(index.classOf('x.com/a'), old);
  index.set(old, undefined);
  assert.equal(index.classOf('x.com/a'), undefined);
  assert.equal(index.classOf('deviceclass.resource.kubernetes.io/b')?.metadata.name, 'b');
});

it('the claim for extended resources is created before the pod is bound, and again after a failed bind', async () => {
  const scheduler = new SchedulerWorld({ lagMs: 300 });
  scheduler.api.seed(deviceClasses, served);
  scheduler.api.seed(resourceSlices, slice(undefined, [{ name: 'g0' }]));
  scheduler.addNode(buildNode('n'));
  const refused = forbidden({ group: '', plural: 'pods' }, 'web', 'no');
  scheduler.api.fail('post', 'pods', refused, 1);
  scheduler.api.seed(pods, wants(1));
  scheduler.start();
  await scheduler.clock.advance(60_000);
  const [pod] = scheduler.api.all(pods);
  assert.equal(pod?.spec.nodeName, 'n');
  const claims = scheduler.api.all(resourceClaims);
  assert.deepEqual(claims.map(results), [['container-0-request-0=all/g0']]);
  const { metadata, status } = claims[0] ?? {};
  assert.match(metadata?.name ?? '', /^web-extended-resources-[0-9a-f]{5}$/);
  assert.equal(metadata?.annotations?.['resource.kubernetes.io/extended-resource-claim'], 'true');
  assert.equal(status?.reservedFor?.[0]?.name, 'web');
  assert.equal(pod?.status?.extendedResourceClaimStatus?.resourceClaimName, metadata?.name);
  await scheduler.stop();
});

/** Returns a world in which drivers must prepare the claim's device for a node before pods are bound. */
function worldWithConditions(devices: readonly object[]): SchedulerWorld {
  const scheduler = new SchedulerWorld({ lagMs: 300 });
  scheduler.api.seed(deviceClasses, gpu);
  scheduler.api.seed(resourceSlices, slice(undefined, devices));
  scheduler.api.seed(resourceClaims, claim(one()));
  scheduler.api.seed(pods, user('c'));
  scheduler.addNode(buildNode('n'));
  scheduler.start();
  return scheduler;
}
const fabric = {
  name: 'g0',
  bindsToNode: true,
  bindingConditions: ['attached'],
  bindingFailureConditions: ['broken'],
};
const claimKey = { namespace: 'default', name: 'c' };
const claimNow = (scheduler: SchedulerWorld): ResourceClaim | undefined => scheduler.api.peek(resourceClaims, claimKey);
const nodeOfWeb = (scheduler: SchedulerWorld): string | undefined =>
  scheduler.api.peek(pods, { namespace: 'default', name: 'web' })?.spec.nodeName;
function report(scheduler: SchedulerWorld, type: string): void {
  const condition = {
    type,
    status: 'True' as const,
    reason: 'R',
    message: 'm',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const device = { driver: 'd.example.com', pool: 'all', device: 'g0', conditions: [condition] };
  scheduler.api.change(resourceClaims, claimKey, (old) => ({ ...old, status: { ...old.status, devices: [device] } }));
}

it('a pod is bound once its drivers report the devices as ready, and its claim is allocated for the node', async () => {
  const scheduler = worldWithConditions([fabric]);
  await scheduler.clock.advance(60_000);
  assert.equal(nodeOfWeb(scheduler), undefined);
  const allocation = claimNow(scheduler)?.status?.allocation;
  assert.equal(allocation?.nodeSelector?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0], 'n');
  assert.match(allocation?.allocationTimestamp ?? '', /^2026-01-01T00:00:0/);
  report(scheduler, 'attached');
  await scheduler.clock.advance(1_000);
  assert.equal(nodeOfWeb(scheduler), 'n');
  await scheduler.stop();
});

it('a device that fails to be prepared is released, and another one is tried', async () => {
  const scheduler = worldWithConditions([fabric, { name: 'g1' }]);
  await scheduler.clock.advance(10_000);
  scheduler.api.change(resourceSlices, { namespace: '', name: 'slice-all' }, () => slice(undefined, [{ name: 'g1' }]));
  report(scheduler, 'broken');
  await scheduler.clock.advance(60_000);
  assert.deepEqual([nodeOfWeb(scheduler), results(claimNow(scheduler))], ['n', ['r=all/g1']]);
  await scheduler.stop();
});

it('a device whose preparation times out is released', async () => {
  const scheduler = worldWithConditions([fabric]);
  await scheduler.clock.advance(599_000);
  const first = claimNow(scheduler)?.status?.allocation?.allocationTimestamp;
  await scheduler.clock.advance(30_000);
  assert.notEqual(claimNow(scheduler)?.status?.allocation?.allocationTimestamp, first);
  assert.equal(nodeOfWeb(scheduler), undefined);
  await scheduler.stop();
});

it('an allocated claim that excludes all nodes is deallocated unless other pods use it', async () => {
  const gone = {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['x'] }] }],
  };
  const result = { request: 'r', driver: 'd.example.com', pool: 'x', device: 'g9' };
  for (const others of [[], [{ resource: 'pods', name: 'other', uid: 'u' }]]) {
    const scheduler = new SchedulerWorld({});
    scheduler.api.seed(deviceClasses, gpu);
    scheduler.api.seed(resourceSlices, slice('n', [{ name: 'g0' }]));
    const status = { allocation: { devices: { results: [result] }, nodeSelector: gone }, reservedFor: others };
    scheduler.api.seed(resourceClaims, claim(one(), { status }));
    scheduler.api.seed(pods, user('c'));
    scheduler.addNode(buildNode('n'));
    scheduler.start();
    await scheduler.clock.advance(30_000);
    assert.equal(nodeOfWeb(scheduler), others.length === 0 ? 'n' : undefined);
    await scheduler.stop();
  }
});
