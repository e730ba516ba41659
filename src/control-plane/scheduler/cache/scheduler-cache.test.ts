import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import type { SchedulerCache } from './scheduler-cache.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';

const zone = (name: string, value: string): ReturnType<typeof buildNode> =>
  buildNode(name, { labels: { 'topology.kubernetes.io/zone': value } });
const antiAffine = {
  affinity: {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: {} }] },
  },
};

describe('the cache of the scheduler', () => {
  it('lists nodes of different zones alternately', () => {
    const cache = cacheOf({
      nodes: [zone('a1', 'a'), zone('a2', 'a'), zone('a3', 'a'), zone('b1', 'b'), buildNode('c')],
    });
    assert.deepEqual(
      cache.nodes().map(({ name }) => name),
      ['a1', 'b1', 'c', 'a2', 'a3'],
    );
    cache.setNode(zone('a2', 'b'));
    cache.removeNode('c');
    assert.deepEqual(
      cache.nodes().map(({ name }) => name),
      ['a1', 'a2', 'a3', 'b1'],
    );
  });

  it('keeps pods whose node is added later, or removed and added again', () => {
    const cache = cacheOf({ nodes: [] });
    cache.setPod(bound(buildPod('x', { requests: { cpu: '1' } }), 'a'));
    assert.deepEqual(cache.nodes(), []);
    cache.setNode(buildNode('a'));
    assert.equal(cache.node('a')?.requested.cpuMillis, 1000);
    cache.removeNode('a');
    cache.setPod(bound(buildPod('y', { requests: { cpu: '2' } }), 'a'));
    cache.removePod('uid-x');
    cache.setNode(buildNode('a'));
    assert.equal(cache.node('a')?.requested.cpuMillis, 2000);
  });

  it('counts an assumed pod until the API shows another state', () => {
    const cache = cacheOf({ nodes: [buildNode('a'), buildNode('b')] });
    const pod = buildPod('x', { requests: { cpu: '1' } });
    cache.assume(bound(pod, 'a'));
    assert.deepEqual([cache.isAssumed('uid-x'), cache.node('a')?.pods.size], [true, 1]);
    // Another scheduler bound the pod first.
    cache.setPod(bound(pod, 'b'));
    cache.forget('uid-x');
    assert.deepEqual([cache.isAssumed('uid-x'), cache.node('a')?.pods.size, cache.node('b')?.pods.size], [false, 0, 1]);
    cache.assume(bound(buildPod('y'), 'a'));
    cache.forget('uid-y');
    assert.equal(cache.node('a')?.pods.size, 0);
  });

  it('the cache computes the same sums for any order of events', () => {
    const podArb = fc.record({
      cpu: fc.integer({ min: 0, max: 3 }),
      port: fc.constantFrom([], [80], [81]),
      spec: fc.constantFrom({}, antiAffine),
      on: fc.constantFrom('a', 'b', 'gone'),
      claim: fc.constantFrom(undefined, 'data'),
    });
    const build = (
      index: number,
      {
        cpu,
        port,
        spec,
        on,
        claim,
      }: { cpu: number; port: readonly number[]; spec: object; on: string; claim: string | undefined },
    ): Pod =>
      bound(
        buildPod(`p${index}`, {
          requests: { cpu: String(cpu) },
          hostPorts: port,
          spec: {
            ...spec,
            ...(claim !== undefined && { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: claim } }] }),
          },
        }),
        on,
      );
    const step = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), index: fc.nat(5), pod: podArb }),
      fc.record({ kind: fc.constant('assume' as const), index: fc.nat(5), pod: podArb }),
      fc.record({ kind: fc.constant('remove' as const), index: fc.nat(5) }),
      fc.record({ kind: fc.constant('forget' as const), index: fc.nat(5) }),
      fc.record({ kind: fc.constant('setNode' as const), name: fc.constantFrom('a', 'b') }),
      fc.record({ kind: fc.constant('removeNode' as const), name: fc.constantFrom('a', 'b') }),
    );
    const facts = (cache: SchedulerCache): unknown => ({
      nodes: cache
        .nodes()
        .map((node) => [
          node.name,
          node.requested.cpuMillis,
          node.nonZeroCpuMillis,
          [...node.pods.keys()].sort(),
          [80, 81].map((port) => node.usedPorts.conflictsWith({ ip: '0.0.0.0', protocol: 'TCP', port })),
        ])
        .sort(),
      shy: [...cache.nodesWithRequiredAntiAffinity()].map(({ name }) => name).sort(),
      used: cache.isClaimUsed('default/data'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const cache = cacheOf({ nodes: [buildNode('a')] });
        const pods = new Map<string, { readonly pod: Pod; readonly assumed: boolean }>();
        const nodes = new Set(['a']);
        for (const each of steps) {
          if (each.kind === 'setNode') {
            cache.setNode(buildNode(each.name));
            nodes.add(each.name);
          } else if (each.kind === 'removeNode') {
            cache.removeNode(each.name);
            nodes.delete(each.name);
          } else {
            const uid = `uid-p${each.index}`;
            if (each.kind === 'set' || each.kind === 'assume') {
              const pod = build(each.index, each.pod);
              if (each.kind === 'set') cache.setPod(pod);
              else cache.assume(pod);
              pods.set(uid, { pod, assumed: each.kind === 'assume' });
            } else if (each.kind === 'remove') {
              cache.removePod(uid);
              pods.delete(uid);
            } else {
              cache.forget(uid);
              if (pods.get(uid)?.assumed === true) pods.delete(uid);
            }
          }
        }
        const fresh = cacheOf({
          nodes: [...nodes].map((name) => buildNode(name)),
          pods: [...pods.values()].map(({ pod }) => pod),
        });
        assert.deepEqual(facts(cache), facts(fresh));
      }),
    );
  });
});
