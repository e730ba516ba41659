import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { services } from '../../api/client/resource-types.ts';
import type { Service } from '../../api/core/service.ts';
import { ControllerWorld } from '../../control-plane/controller-runtime/testing/controller-world.ts';
import { computeRoutes } from './compute-routes.ts';
import { createLoadBalancerController } from './load-balancer-controller.ts';
import { assignNodeAddress, LOAD_BALANCER_CLASS } from './node-load-balancer.ts';
import { nodeLoadBalancer, renderRuleset } from './ruleset.ts';
import { facts as builderFacts, service, slice } from './testing/service-builders.ts';

const NODE = '10.84.0.1';
const balancer = { addresses: [NODE], reserved: new Set(['6443/tcp']) };

function balanced(name: string, ports: readonly number[], more: { age?: number; spec?: object } = {}): Service {
  const made = service(name, {
    type: 'LoadBalancer',
    ports: ports.map((port) => ({ name: `p${port}`, port })),
    ...more.spec,
  });
  const creationTimestamp = `2026-01-01T00:00:${String(more.age ?? 0).padStart(2, '0')}Z`;
  return { ...made, metadata: { ...made.metadata, creationTimestamp } };
}

describe('assignNodeAddress', () => {
  it('gives a port to the oldest service that wants it, and names the holder to the others', () => {
    const assigned = assignNodeAddress(
      [balanced('young', [80], { age: 2 }), balanced('old', [80], { age: 1 }), balanced('apart', [81], { age: 3 })],
      balancer,
    );
    assert.deepEqual(Object.fromEntries(assigned), {
      'default/old': undefined,
      'default/apart': undefined,
      'default/young': { port: '80/tcp', holder: 'default/old' },
    });
  });

  it('gives all ports of a service or none, and leaves what it does not take to the next', () => {
    const assigned = assignNodeAddress(
      [balanced('a', [80], { age: 1 }), balanced('b', [80, 443], { age: 2 }), balanced('c', [443], { age: 3 })],
      balancer,
    );
    assert.deepEqual([...assigned.values()], [undefined, { port: '80/tcp', holder: 'default/a' }, undefined]);
  });

  it('keeps the ports of the node, by protocol', () => {
    const udp = balanced('udp', [], { spec: { ports: [{ port: 6443, protocol: 'UDP' }] } });
    const assigned = assignNodeAddress([balanced('thief', [6443]), udp], balancer);
    assert.deepEqual(assigned.get('default/thief'), { port: '6443/tcp', holder: undefined });
    assert.ok(assigned.has('default/udp') && assigned.get('default/udp') === undefined);
  });

  it('leaves services of other types and of other load balancers', () => {
    const own = balanced('own', [82], { spec: { loadBalancerClass: LOAD_BALANCER_CLASS } });
    const assigned = assignNodeAddress(
      [
        service('cluster', { type: 'ClusterIP' }),
        service('node', { type: 'NodePort' }),
        balanced('other', [80], { spec: { loadBalancerClass: 'example.com/other' } }),
        { ...balanced('going', [81]), metadata: { ...balanced('going', [81]).metadata, deletionTimestamp: 'now' } },
        own,
      ],
      balancer,
    );
    assert.deepEqual([...assigned.keys()], ['default/own']);
  });

  it('gives no port twice, in whatever order the services come', () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 1 }), fc.nat({ max: 9 })), {
          maxLength: 12,
        }),
        fc.infiniteStream(fc.nat()),
        (shapes, keys) => {
          const list = shapes.map(([ports, age], index) => balanced(`s${index}`, ports, { age }));
          const shuffled = list
            .map((each) => ({ each, key: keys.next().value }))
            .sort((left, right) => left.key - right.key)
            .map(({ each }) => each);
          const assigned = assignNodeAddress(list, balancer);
          assert.deepEqual(new Map([...assigned].sort()), new Map([...assignNodeAddress(shuffled, balancer)].sort()));
          const held = list
            .filter(({ metadata }) => assigned.get(`default/${metadata.name}`) === undefined)
            .flatMap(({ spec }) => (spec.ports ?? []).map(({ port }) => port));
          assert.equal(new Set(held).size, held.length);
        },
      ),
    ));
});

describe('the rules of a node load balancer', () => {
  const facts = {
    ...builderFacts,
    loadBalancerAddresses: [NODE],
    admitted: [{ ip: NODE, protocol: 'tcp', port: 6443 }] as const,
    kept: [{ ip: NODE, protocol: 'tcp', port: 10_250 }] as const,
  };
  const rulesFor = (list: readonly Service[]): string[] => {
    const routes = computeRoutes(list, () => [slice('web', ['10.84.0.9'])], {
      nodeName: 'node',
      balancer: nodeLoadBalancer(facts),
    });
    const { nat, filter } = renderRuleset(routes, facts);
    return [...nat.chains.values(), ...filter.chains.values()].flat().filter((rule) => rule.includes(`-d ${NODE}/32`));
  };
  const web = (ports: { port: number }[], spec: object = {}): Service =>
    service('web', { type: 'LoadBalancer', ports, ...spec });

  it('lead from the port on the node’s address to the service', () =>
    assert.ok(rulesFor([web([{ port: 80 }])]).some((rule) => /--dport 80 .*"default\/web:80" -j \S+-X/.test(rule))));

  it('allow the clients of loadBalancerSourceRanges only', () => {
    const rules = rulesFor([web([{ port: 80 }], { loadBalancerSourceRanges: ['198.51.100.0/24'] })]);
    const open = rules.filter((rule) => rule.includes('--dport 80 '));
    assert.ok(open.length > 0 && open.every((rule) => rule.startsWith('-s 198.51.100.0/24 ')));
  });

  it('are not written for the ports that the node serves itself', () => {
    for (const port of [6443, 10_250]) {
      const rules = rulesFor([web([{ port }])]).filter((rule) => rule.includes(`--dport ${port} `));
      assert.ok(rules.length > 0 && rules.every((rule) => / -j (RETURN|ACCEPT)$/.test(rule)), rules.join('\n'));
    }
  });

  it('come from the type of the service and not from what its status claims', () => {
    const claimed = (type: 'ClusterIP' | 'LoadBalancer'): Service =>
      ({
        ...service('web', { type, ports: [{ port: 80 }], externalIPs: [NODE] }),
        status: { loadBalancer: { ingress: [{ ip: NODE }] } },
      }) as Service;
    assert.deepEqual(
      rulesFor([claimed('ClusterIP')]).filter((rule) => rule.includes('web')),
      [],
    );
    const other = { ...claimed('LoadBalancer'), spec: { ...web([{ port: 80 }]).spec, loadBalancerClass: 'other/x' } };
    assert.deepEqual(
      rulesFor([other]).filter((rule) => rule.includes('web')),
      [],
    );
  });
});

describe('the controller of the node load balancer', () => {
  const worldWith = (...list: readonly Service[]): ControllerWorld => {
    const world = new ControllerWorld({ make: (each) => [createLoadBalancerController({ ...each, balancer })] });
    for (const each of list) world.api.seed(services, each);
    return world;
  };
  const addresses = (world: ControllerWorld): Record<string, readonly unknown[]> =>
    Object.fromEntries(
      world.api
        .all(services)
        .map(({ metadata, status }) => [metadata.name, (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)]),
    );

  it('shows the address in the status, and a conflict in an event, once', async () => {
    const world = worldWith(balanced('old', [80], { age: 1 }), balanced('young', [80], { age: 2 }));
    world.start();
    await world.run(5_000);
    assert.deepEqual(addresses(world), { old: [NODE], young: [] });
    assert.deepEqual(world.events, [
      'Normal EnsuredLoadBalancer Ensured load balancer',
      'Warning SyncLoadBalancerFailed Error syncing load balancer: port 80/TCP of 10.84.0.1 is taken by service default/old',
    ]);
    await world.stop();
  });

  it('looks at no other service when one changes that is no load balancer', async () => {
    let looks = 0;
    const plain = Array.from({ length: 50 }, (_, index): Service => {
      const made = service(`plain-${index}`, {});
      const spec = { ...made.spec };
      Object.defineProperty(spec, 'type', { enumerable: true, get: (): 'ClusterIP' => (looks++, 'ClusterIP') });
      return { ...made, spec };
    });
    const world = worldWith(balanced('web', [80]), ...plain);
    world.start();
    await world.run(5_000);
    assert.ok(looks >= 50);
    looks = 0;
    const relabel = (name: string): void =>
      void world.api.change(services, { namespace: 'default', name }, (each) => ({
        ...each,
        metadata: { ...each.metadata, labels: { changed: 'yes' } },
      }));
    relabel('plain-7');
    await world.run(5_000);
    assert.ok(looks < 10, `${looks} looks`);
    relabel('web');
    await world.run(5_000);
    assert.ok(looks >= 49, `${looks} looks`);
    await world.stop();
  });

  it('gives a port to the next service when the holder goes', async () => {
    const world = worldWith(balanced('old', [80], { age: 1 }), balanced('young', [80], { age: 2 }));
    world.start();
    await world.run(2_000);
    await world.api.delete(services, { namespace: 'default', name: 'old' });
    await world.run(2_000);
    assert.deepEqual(addresses(world), { young: [NODE] });
    await world.stop();
  });

  it('takes the address back when the type changes, and leaves addresses of others', async () => {
    const both = { loadBalancer: { ingress: [{ ip: NODE }, { ip: '203.0.113.7' }] } };
    const world = worldWith({ ...service('web', { type: 'ClusterIP' }), status: both } as Service);
    world.start();
    await world.run(2_000);
    assert.deepEqual(addresses(world), { web: ['203.0.113.7'] });
    await world.stop();
  });
});
