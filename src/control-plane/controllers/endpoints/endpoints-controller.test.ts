import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { endpoints, pods, services } from '../../../api/client/resource-types.ts';
import type { Endpoints } from '../../../api/core/endpoints.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { truncateSubsets } from './address-groups.ts';
import { createEndpointsController } from './endpoints-controller.ts';

const key = { namespace: 'default', name: 'web' };
const service = (spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { ...key, uid: 'svc', labels: { team: 'a' } },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.0.0.1',
    ports: [{ port: 80, targetPort: 8080, protocol: 'TCP' }],
    ...spec,
  },
});

function pod(name: string, ip: string, changes: Record<string, unknown> = {}, ready = true): Pod {
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'metadata.labels': { app: 'web' },
    'spec.nodeName': 'n',
    status: { phase: 'Running', podIPs: [{ ip }], conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    ...changes,
  });
}

async function setUp(what: Service | undefined, all: readonly Pod[], existing?: Endpoints): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createEndpointsController(options)] });
  if (what !== undefined) world.api.seed(services, what);
  if (existing !== undefined) world.api.seed(endpoints, existing);
  for (const each of all) world.api.seed(pods, each);
  world.start();
  await world.clock.advance(1_000);
  return world;
}
const found = (world: ControllerWorld): Endpoints | undefined => world.api.peek(endpoints, key);
const ips = (world: ControllerWorld): unknown =>
  found(world)?.subsets?.map(({ addresses, notReadyAddresses, ports }) => [
    addresses?.map(({ ip }) => ip),
    notReadyAddresses?.map(({ ip }) => ip),
    ports?.map(({ port }) => port),
  ]);

it('lists the ready and the other addresses of a service', async () => {
  const world = await setUp(service(), [pod('b', '10.1.0.2'), pod('a', '10.1.0.1'), pod('c', '10.1.0.3', {}, false)]);
  assert.deepEqual(ips(world), [[['10.1.0.1', '10.1.0.2'], ['10.1.0.3'], [8080]]]);
  assert.deepEqual(
    [found(world)?.metadata.labels, found(world)?.subsets?.[0]?.addresses?.[0]],
    [
      { team: 'a', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
      { ip: '10.1.0.1', nodeName: 'n', targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'a' } },
    ],
  );
  const { length } = world.api.writes;
  world.api.change(pods, { namespace: 'default', name: 'a' }, (each) => ({
    ...each,
    metadata: { ...each.metadata, annotations: { x: '1' } },
  }));
  await world.clock.advance(1_000);
  assert.equal(world.api.writes.length, length);
  world.api.change(pods, { namespace: 'default', name: 'c' }, (each) => ({
    ...each,
    status: { ...each.status, conditions: [{ type: 'Ready', status: 'True' }] } as Pod['status'],
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(
    [ips(world), world.api.writes.length],
    [[[['10.1.0.1', '10.1.0.2', '10.1.0.3'], undefined, [8080]]], length + 1],
  );
  await world.stop();
});

it('is annotated with the time of the change that it publishes, and is not written for the annotation alone', async () => {
  const readyAt = (time: string): Record<string, unknown> => ({
    status: {
      phase: 'Running',
      podIPs: [{ ip: '10.1.0.1' }],
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time }],
    },
  });
  const world = await setUp(service(), []);
  const time = (): string | undefined =>
    found(world)?.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'];
  assert.equal(time(), '2026-01-01T00:00:00Z', 'the creation of the service');
  world.api.seed(pods, pod('a', '10.1.0.1', readyAt('2026-01-01T00:00:07Z')));
  await world.clock.advance(1_000);
  assert.equal(time(), '2026-01-01T00:00:07Z');
  const { length } = world.api.writes;
  world.api.change(services, key, (each) => ({ ...each, metadata: { ...each.metadata, annotations: { x: 'y' } } }));
  await world.clock.advance(1_000);
  assert.equal(world.api.writes.length, length);
  world.api.remove(pods, { namespace: 'default', name: 'a' });
  await world.clock.advance(1_000);
  assert.deepEqual([time(), found(world)?.subsets], [undefined, undefined]);
  await world.stop();
});

it('terminating pods are not listed, unless unready addresses are published', async () => {
  const leaving = { 'metadata.deletionTimestamp': '2026-01-01T00:00:30Z', 'metadata.deletionGracePeriodSeconds': 30 };
  const world = await setUp(service(), [pod('a', '10.1.0.1', leaving)]);
  assert.equal(found(world)?.subsets, undefined);
  const everyone = await setUp(service({ publishNotReadyAddresses: true }), [
    pod('a', '10.1.0.1', leaving),
    pod('b', '10.1.0.2', {}, false),
  ]);
  assert.deepEqual(ips(everyone), [[['10.1.0.1', '10.1.0.2'], undefined, [8080]]]);
  await Promise.all([world.stop(), everyone.stop()]);
});

it('pods with different numbers for a named port are listed separately, those without it not at all', async () => {
  const named = (containerPort: number): Record<string, unknown> => ({
    'spec.containers[0].ports': [{ name: 'web', containerPort, protocol: 'TCP' }],
  });
  const world = await setUp(service({ ports: [{ port: 80, targetPort: 'web', protocol: 'TCP' }] }), [
    pod('a', '10.1.0.1', named(1)),
    pod('b', '10.1.0.2', named(2)),
    pod('c', '10.1.0.3'),
  ]);
  assert.deepEqual(ips(world), [
    [['10.1.0.1'], undefined, [1]],
    [['10.1.0.2'], undefined, [2]],
  ]);
  await world.stop();
});

it('headless services have a label, and need no ports', async () => {
  const world = await setUp(service({ clusterIP: 'None', ports: [] }), [
    pod('a', '10.1.0.1', { 'spec.hostname': 'first', 'spec.subdomain': 'web' }),
  ]);
  assert.deepEqual(
    [found(world)?.metadata.labels?.['service.kubernetes.io/headless'], found(world)?.subsets],
    [
      '',
      [
        {
          addresses: [
            {
              ip: '10.1.0.1',
              hostname: 'first',
              nodeName: 'n',
              targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'a' },
            },
          ],
        },
      ],
    ],
  );
  await world.stop();
});

it('Endpoints are deleted with their service and recreated; those without a selector, and locks, are not changed', async () => {
  const world = await setUp(service(), [pod('a', '10.1.0.1')]);
  world.api.remove(endpoints, key);
  await world.clock.advance(1_000);
  assert.deepEqual(ips(world), [[['10.1.0.1'], undefined, [8080]]]);
  world.api.remove(services, key);
  await world.clock.advance(1_000);
  assert.equal(found(world), undefined);
  const mine: Endpoints = { metadata: { ...key, uid: 'e' }, subsets: [] };
  const foreign = await setUp(service({ selector: {} }), [], mine);
  const lock = await setUp(undefined, [], {
    ...mine,
    metadata: { ...mine.metadata, annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } },
  });
  const leftover = await setUp(undefined, [], mine);
  assert.deepEqual(
    [foreign.api.writes, lock.api.writes, leftover.api.writes],
    [[], [], ['delete endpoints default/web']],
  );
  await Promise.all([world, foreign, lock, leftover].map((each) => each.stop()));
});

it('keeps a thousand addresses, the ready ones first, and marks the object as truncated', async () => {
  const addresses = (count: number, from: number): { ip: string }[] =>
    Array.from({ length: count }, (_, index) => ({ ip: `10.${from}.${index >> 8}.${index & 255}` }));
  const { subsets, truncated } = truncateSubsets([
    { notReadyAddresses: addresses(700, 1), ports: [{ port: 1 }] },
    { addresses: addresses(800, 2), ports: [{ port: 2 }] },
  ]);
  assert.deepEqual(
    [truncated, subsets.map((each) => [each.addresses?.length, each.notReadyAddresses?.length])],
    [
      true,
      [
        [undefined, 200],
        [800, undefined],
      ],
    ],
  );
  assert.equal(truncateSubsets([{ addresses: addresses(1_000, 1) }]).truncated, false);
  const world = await setUp(
    service(),
    Array.from({ length: 1_001 }, (_, index) => pod(`p${index}`, `10.1.${index >> 8}.${index & 255}`)),
  );
  assert.deepEqual(
    [found(world)?.subsets?.[0]?.addresses?.length, found(world)?.metadata.annotations],
    [
      1_000,
      {
        'endpoints.kubernetes.io/over-capacity': 'truncated',
        'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
      },
    ],
  );
  world.api.remove(pods, { namespace: 'default', name: 'p0' });
  await world.clock.advance(1_000);
  assert.deepEqual(
    [found(world)?.subsets?.[0]?.addresses?.length, found(world)?.metadata.annotations ?? {}],
    [1_000, {}],
  );
  await world.stop();
});

it('equals the pods of the service, killed at any write and with late events', () => {
  const kinds = fc.constantFrom('add', 'remove', 'ready', 'unready', 'unlabel', 'service', 'noSelector', 'noService');
  const step = fc.record({
    kind: kinds,
    name: fc.constantFrom('a', 'b', 'c'),
    port: fc.constantFrom(8080, 9090),
    writes: fc.integer({ min: 1, max: 3 }),
    forMs: fc.integer({ min: 0, max: 2_000 }),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), fc.nat(1_000), async (steps, seed) => {
      const world = new ControllerWorld({
        make: (options) => [createEndpointsController(options)],
        seed,
        lagMs: 700,
      });
      const address = { a: '10.1.0.1', b: '10.1.0.2', c: '10.1.0.3' } as const;
      world.api.seed(services, service());
      world.start();
      for (const { kind, name, port, writes, forMs } of steps) {
        world.restartAtWrite(writes);
        playStep(world, kind, pod(name, address[name as 'a' | 'b' | 'c'], {}, kind === 'ready'), port);
        await world.clock.advance(forMs);
      }
      await world.clock.advance(30_000);
      const last = world.api.peek(services, key);
      // Without a selector, the user keeps the Endpoints.
      if (last?.spec.selector === undefined) {
        if (last === undefined) assert.equal(found(world), undefined);
        return world.stop();
      }
      const selected = world.api.all(pods).filter(({ metadata }) => metadata.labels?.['app'] === 'web');
      const withReady = (wanted: string): string[] | undefined => {
        const these = selected.filter(({ status }) => status?.conditions?.[0]?.status === wanted);
        return these.length === 0 ? undefined : these.map(({ status }) => status?.podIPs?.[0]?.ip ?? '').sort();
      };
      const subset = [withReady('True'), withReady('False'), [last.spec.ports?.[0]?.targetPort]];
      assert.deepEqual(ips(world), selected.length === 0 ? undefined : [subset]);
      await world.stop();
    }),
    {
      numRuns: 40,
      examples: [
        [
          [
            { kind: 'add', name: 'a', port: 8080, writes: 1, forMs: 0 },
            { kind: 'noService', name: 'a', port: 8080, writes: 1, forMs: 0 },
            { kind: 'add', name: 'a', port: 8080, writes: 2, forMs: 0 },
          ],
          727,
        ],
      ],
    },
  );
});

function playStep(world: ControllerWorld, kind: string, each: Pod, port: number): void {
  const named = { namespace: 'default', name: each.metadata.name };
  const exists = world.api.peek(pods, named) !== undefined;
  const current = world.api.peek(services, key);
  if (kind === 'add' && !exists) world.api.seed(pods, each);
  if (kind === 'remove' && exists) world.api.remove(pods, named);
  if (exists && (kind === 'ready' || kind === 'unready'))
    world.api.change(pods, named, (before) => ({ ...before, ...(each.status && { status: each.status }) }));
  if (exists && kind === 'unlabel')
    world.api.change(pods, named, (before) => ({ ...before, metadata: { ...before.metadata, labels: {} } }));
  if (kind === 'noService' && current !== undefined) world.api.remove(services, key);
  const wanted = service({ ports: [{ port: 80, targetPort: port, protocol: 'TCP' }] });
  const { selector: _, ...unselective } = wanted.spec;
  if (kind === 'service' && current === undefined) world.api.seed(services, wanted);
  else if (kind === 'service') world.api.change(services, key, (before) => ({ ...before, spec: wanted.spec }));
  if (kind === 'noSelector' && current !== undefined)
    world.api.change(services, key, (before) => ({ ...before, spec: unselective }));
}
