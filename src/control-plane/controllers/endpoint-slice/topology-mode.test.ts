import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointSlices, nodes, pods, services } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Service } from '../../../api/core/service.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createEndpointSliceController } from './endpoint-slice-controller.ts';
import { isTopologyModeAuto } from './topology-mode.ts';

const MODE = 'service.kubernetes.io/topology-mode';
const key = { namespace: 'default', name: 'web' };
const auto = { [MODE]: 'Auto' };

const service = (annotations: Record<string, string>, spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { ...key, uid: 'svc', annotations },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    ports: [{ port: 80, targetPort: 8080, protocol: 'TCP' }],
    ...spec,
  },
});
const node = (zone: string | undefined, cpu = '4'): Node => ({
  metadata: {
    name: `node-${zone}`,
    namespace: '',
    uid: '',
    ...(zone !== undefined && { labels: { 'topology.kubernetes.io/zone': zone } }),
  },
  status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] },
});

/** Starts a world. `aab` are ready pods in these zones, named `a1`, `a2`, `b1`. */
async function setUp(zones: string, annotations: Record<string, string> = auto): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createEndpointSliceController(options)] });
  for (const zone of new Set(zones)) world.api.seed(nodes, node(zone));
  world.api.seed(services, service(annotations));
  [...zones].forEach((zone, at) => addPod(world, zone, at + 1));
  world.start();
  await world.clock.advance(3_000);
  return world;
}

function addPod(world: ControllerWorld, zone: string, at: number): void {
  const name = `${zone}${zone === '' ? 'lost' : at}`;
  world.api.seed(
    pods,
    buildPod({
      'metadata.name': name,
      'metadata.uid': name,
      'metadata.labels': { app: 'web' },
      'spec.nodeName': `node-${zone}`,
      status: { phase: 'Running', podIPs: [{ ip: `10.1.0.${at}` }], conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  );
}

/** Formats the hints: `a1>a` is a pod with the zone of its hint, `a1` a pod without a hint. */
const hints = (world: ControllerWorld): string =>
  world.api
    .all(endpointSlices)
    .flatMap(({ endpoints }) => endpoints)
    .map(({ targetRef, hints: hint }) => [targetRef?.name, ...(hint?.forZones ?? []).map(({ name }) => name)].join('>'))
    .sort()
    .join(' ');

describe('topology mode Auto', () => {
  it('sets hints by the CPUs of the zones, and moves them if a zone got too few', async () => {
    const world = await setUp('aabb');
    assert.equal(hints(world), 'a1>a a2>a b3>b b4>b');
    world.api.change(nodes, { namespace: '', name: 'node-a' }, () => node('a', '12'));
    await world.clock.advance(3_000);
    assert.equal(hints(world), 'a1>a a2>a b3>a b4>b');
    assert.deepEqual(world.events, [
      'Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4',
    ]);
    await world.stop();
  });

  it('removes all hints if they are not possible, and reports the reason once', async () => {
    const world = await setUp('aabb');
    world.api.seed(nodes, node(undefined));
    await world.clock.advance(3_000);
    assert.equal(hints(world), 'a1 a2 b3 b4');
    addPod(world, 'a', 5);
    await world.clock.advance(3_000);
    assert.equal(hints(world), 'a1 a2 a5 b3 b4');
    assert.deepEqual(world.events.slice(1), [
      'Warning TopologyAwareHintsDisabled Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4',
    ]);
    await world.stop();
  });

  it('records no event after a restart, nor if nothing changed', async () => {
    const world = await setUp('aabb');
    world.restart();
    await world.clock.advance(3_000);
    assert.deepEqual([hints(world), world.events.length], ['a1>a a2>a b3>b b4>b', 1]);
    await world.stop();
  });

  it('ends with the annotation, and traffic distribution applies again', async () => {
    const world = await setUp('aabb');
    world.api.change(services, key, (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: {} },
      spec: { ...object.spec, trafficDistribution: 'PreferSameZone' },
    }));
    await world.clock.advance(3_000);
    assert.equal(hints(world), 'a1>a a2>a b3>b b4>b');
    world.api.change(services, key, () => service({}));
    await world.clock.advance(3_000);
    assert.equal(hints(world), 'a1 a2 b3 b4');
    assert.deepEqual(world.events.slice(1), [
      'Warning TopologyAwareHintsDisabled Topology Aware Hints has been disabled, addressType: IPv4',
    ]);
    await world.stop();
  });

  it('is enabled by either annotation, the older one first, in two spellings', () => {
    const former = 'service.kubernetes.io/topology-aware-hints';
    const cases: Record<string, string>[] = [
      { [MODE]: 'Auto' },
      { [MODE]: 'auto' },
      { [former]: 'Auto' },
      { [MODE]: 'AUTO' },
      {},
    ];
    assert.deepEqual(
      [...cases, { [MODE]: 'Auto', [former]: 'Disabled' }].map((annotations) =>
        isTopologyModeAuto(service(annotations)),
      ),
      [true, true, true, false, false, false],
    );
  });
});
