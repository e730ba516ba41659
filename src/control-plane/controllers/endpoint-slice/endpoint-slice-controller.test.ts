import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { endpointSlices, nodes, pods, services } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createEndpointSliceController } from './endpoint-slice-controller.ts';

const key = { namespace: 'default', name: 'web' };

function service(spec: Partial<Service['spec']> = {}, labels: Record<string, string> = { team: 'a' }): Service {
  return {
    metadata: { ...key, uid: 'svc', labels },
    spec: {
      selector: { app: 'web' },
      clusterIP: '10.0.0.1',
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      ...spec,
    },
  };
}

function pod(name: string, ip: string, changes: Record<string, unknown> = {}): Pod {
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'metadata.labels': { app: 'web' },
    'spec.nodeName': 'node-1',
    status: { phase: 'Running', podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
    ...changes,
  });
}
const notReady = (ip: string): Record<string, unknown> => ({
  status: { phase: 'Running', podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'False' }] },
});
const leaving = { 'metadata.deletionTimestamp': '2026-01-01T00:00:30Z', 'metadata.deletionGracePeriodSeconds': 30 };

async function setUp(
  what: Service,
  all: readonly Pod[],
  options: { readonly lagMs?: number; readonly seed?: number } = {},
): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (each) => [createEndpointSliceController(each)], ...options });
  world.addNode('node-1', { labels: { 'topology.kubernetes.io/zone': 'z1' } });
  world.api.seed(services, what);
  for (const each of all) world.api.seed(pods, each);
  world.start();
  await world.clock.advance(3_000);
  return world;
}

const slicesOf = (world: ControllerWorld): readonly EndpointSlice[] => world.api.all(endpointSlices);
const sliceLines = (world: ControllerWorld): string[] =>
  slicesOf(world)
    .flatMap(({ endpoints }) =>
      endpoints.map(({ addresses, conditions }) =>
        `${addresses.join()} ${conditions?.ready ? 'ready' : ''} ${conditions?.serving ? 'serving' : ''} ${conditions?.terminating ? 'terminating' : ''}`
          .replaceAll(/ +/g, ' ')
          .trim(),
      ),
    )
    .sort();

it('lists the pods of a service with node, zone and conditions, in a slice owned by the service', async () => {
  const world = await setUp(service(), [
    pod('a', '10.1.0.1'),
    pod('b', '10.1.0.2', notReady('10.1.0.2')),
    pod('other', '10.1.0.9', { 'metadata.labels': {} }),
  ]);
  const [slice] = slicesOf(world);
  assert.deepEqual(
    [slicesOf(world).length, slice?.addressType, slice?.ports, slice?.metadata.labels, slice?.metadata.ownerReferences],
    [
      1,
      'IPv4',
      [{ name: 'http', port: 8080, protocol: 'TCP' }],
      {
        team: 'a',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'svc', controller: true, blockOwnerDeletion: true }],
    ],
  );
  assert.match(slice?.metadata.name ?? '', /^web-.+/);
  assert.deepEqual(slice?.endpoints[0], {
    addresses: ['10.1.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'a' },
    nodeName: 'node-1',
    zone: 'z1',
  });
  assert.deepEqual(sliceLines(world), ['10.1.0.1 ready serving', '10.1.0.2']);
  await world.stop();
});

it('a written slice has the time of the change that it publishes', async () => {
  const since = (name: string, second: number): Pod =>
    pod(name, `10.1.0.${second}`, {
      status: {
        phase: 'Running',
        podIPs: [{ ip: `10.1.0.${second}` }],
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: `2026-01-01T00:00:0${second}Z` }],
      },
    });
  const world = await setUp(service(), [since('a', 1)]);
  const time = (): string | undefined =>
    slicesOf(world)[0]?.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'];
  assert.equal(time(), '2026-01-01T00:00:00Z', 'the creation of the service');
  for (const each of [since('b', 9), since('c', 8)]) world.api.seed(pods, each);
  await world.clock.advance(1_000);
  assert.equal(time(), '2026-01-01T00:00:08Z');
  world.api.remove(pods, { namespace: 'default', name: 'b' });
  await world.clock.advance(1_000);
  assert.equal(time(), undefined);
  await world.stop();
});

it('a terminating pod serves while it can and is not ready; ended pods and those without an address are not listed', async () => {
  const world = await setUp(service(), [
    pod('a', '10.1.0.1', leaving),
    pod('b', '10.1.0.2', { ...leaving, ...notReady('10.1.0.2') }),
    pod('c', '', { status: { phase: 'Pending' } }),
    pod('d', '10.1.0.4', { status: { phase: 'Failed', podIPs: [{ ip: '10.1.0.4' }] } }),
  ]);
  assert.deepEqual(sliceLines(world), ['10.1.0.1 serving terminating', '10.1.0.2 terminating']);
  const everyone = await setUp(service({ publishNotReadyAddresses: true }), [
    pod('a', '10.1.0.1', leaving),
    pod('b', '10.1.0.2', notReady('10.1.0.2')),
  ]);
  assert.deepEqual(sliceLines(everyone), ['10.1.0.1 ready serving terminating', '10.1.0.2 ready serving']);
  await Promise.all([world.stop(), everyone.stop()]);
});

it('a named port has the number of each pod; a pod without it is listed without ports', async () => {
  const named = (containerPort: number): Record<string, unknown> => ({
    'spec.containers[0].ports': [{ name: 'web', containerPort, protocol: 'TCP' }],
  });
  const world = await setUp(service({ ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }] }), [
    pod('a', '10.1.0.1', named(8080)),
    pod('b', '10.1.0.2', named(9090)),
    pod('c', '10.1.0.3', named(9090)),
    pod('d', '10.1.0.4'),
  ]);
  const by = Object.fromEntries(
    slicesOf(world).map(({ ports = [], endpoints }) => [
      ports.map(({ port }) => port).join(),
      endpoints.map(({ addresses }) => addresses.join()),
    ]),
  );
  assert.deepEqual(by, { 8080: ['10.1.0.1'], 9090: ['10.1.0.2', '10.1.0.3'], '': ['10.1.0.4'] });
  await world.stop();
});

it('headless services have a label and host names; both families have slices; a service without pods has an empty slice', async () => {
  const headless = await setUp(service({ clusterIP: 'None', ports: [] }), [
    pod('a', '10.1.0.1', { 'spec.hostname': 'first', 'spec.subdomain': 'web' }),
  ]);
  assert.deepEqual(
    [
      slicesOf(headless)[0]?.metadata.labels?.['service.kubernetes.io/headless'],
      slicesOf(headless)[0]?.endpoints[0]?.hostname,
    ],
    ['', 'first'],
  );
  const both = await setUp(service({ ipFamilies: ['IPv4', 'IPv6'] }), [
    pod('a', '', { status: { phase: 'Running', podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }] } }),
  ]);
  assert.deepEqual(
    slicesOf(both)
      .map(({ addressType, endpoints }) => `${addressType} ${endpoints[0]?.addresses.join()}`)
      .sort(),
    ['IPv4 10.1.0.1', 'IPv6 fd00::1'],
  );
  const empty = await setUp(service(), []);
  assert.deepEqual(
    slicesOf(empty).map(({ endpoints, ports }) => [endpoints, ports]),
    [[[], []]],
  );
  const foreign = await setUp(service({ selector: {} }), [pod('a', '10.1.0.1')]);
  assert.deepEqual(foreign.api.writes, []);
  await Promise.all([headless, both, empty, foreign].map((world) => world.stop()));
});

it('a change of a pod costs one write, whatever the other slices contain', async () => {
  const all = Array.from({ length: 150 }, (_, index) => pod(`p${index}`, `10.1.${index >> 8}.${index & 255}`));
  const world = await setUp(service(), all);
  assert.deepEqual(
    slicesOf(world)
      .map(({ endpoints }) => endpoints.length)
      .sort(),
    [100, 50],
  );
  const writesOf = async (change: () => void): Promise<string[]> => {
    const { length } = world.api.writes;
    change();
    await world.clock.advance(2_000);
    return world.api.writes.slice(length).map((each) => each.split(' ')[0] ?? '');
  };
  assert.deepEqual(await writesOf(() => void world.api.seed(pods, pod('new', '10.2.0.1'))), ['update']);
  assert.deepEqual(await writesOf(() => world.api.remove(pods, { namespace: 'default', name: 'p3' })), ['update']);
  assert.deepEqual(
    await writesOf(
      () =>
        void world.api.change(pods, { namespace: 'default', name: 'p5' }, (each) => ({
          ...each,
          metadata: { ...each.metadata, annotations: { x: '1' } },
        })),
    ),
    [],
  );
  assert.deepEqual(
    await writesOf(
      () =>
        void world.api.change(services, key, (each) => ({
          ...each,
          metadata: { ...each.metadata, labels: { team: 'b' } },
        })),
    ),
    ['update', 'update'],
  );
  assert.deepEqual(await writesOf(() => world.api.remove(nodes, { namespace: '', name: 'none' })), []);
  const full = slicesOf(world).find((each) => each.endpoints.length > 90);
  assert.deepEqual(
    (
      await writesOf(() => world.api.remove(endpointSlices, { namespace: 'default', name: full?.metadata.name ?? '' }))
    ).sort(),
    ['create', 'update'],
  );
  assert.equal(new Set(sliceLines(world)).size, 150);
  await world.stop();
});

it('after random changes and late events each pod is listed once, and no slice is too large', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(12), fc.boolean(), fc.integer({ min: 1, max: 8 })), { maxLength: 25 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = await setUp(service(), [], { seed, lagMs: 600 });
        const wanted = new Set<number>();
        for (const [index, there, tenths] of steps) {
          if (there) world.api.seed(pods, pod(`p${index}`, `10.1.0.${index}`));
          else world.api.remove(pods, { namespace: 'default', name: `p${index}` });
          if (there) wanted.add(index);
          else wanted.delete(index);
          if (tenths === 8) world.restart();
          await world.clock.advance(tenths * 100);
        }
        await world.clock.advance(20_000);
        assert.deepEqual(sliceLines(world), [...wanted].map((index) => `10.1.0.${index} ready serving`).sort());
        await world.stop();
      },
    ),
    { numRuns: 40 },
  ));
