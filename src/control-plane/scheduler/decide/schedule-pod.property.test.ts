import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import { nodesArb, podArb, podsArb } from '../testing/arbitraries.ts';
import { bound, cacheOf, decide } from '../testing/builders.ts';

const millis = (pod: Pod): number => podInfoOf(pod).wanted.cpuMillis;
const zoneOf = (nodes: readonly Node[], name: string | undefined): string | undefined =>
  nodes.find(({ metadata }) => metadata.name === name)?.metadata.labels?.['zone'];
const appOf = ({ metadata }: Pod): string | undefined => metadata.labels?.['app'];

/** Whether the API's rules allow the pod on the node, computed from all objects, one rule after another. */
function mayBe(pod: Pod, node: Node, nodes: readonly Node[], there: readonly Pod[]): boolean {
  const here = there.filter(({ spec }) => spec.nodeName === node.metadata.name);
  const capacity = Number(node.status?.allocatable?.['cpu']) * 1000;
  if (here.length + 1 > Number(node.status?.allocatable?.['pods'])) return false;
  if (millis(pod) > 0 && here.reduce((sum, other) => sum + millis(other), 0) + millis(pod) > capacity) return false;
  if (node.spec?.unschedulable === true) return false;
  if ((node.spec?.taints ?? []).length > 0 && (pod.spec.tolerations ?? []).length === 0) return false;
  const wantedZone = pod.spec.nodeSelector?.['zone'];
  if (wantedZone !== undefined && node.metadata.labels?.['zone'] !== wantedZone) return false;
  const ports = (one: Pod): number[] => (one.spec.containers[0]?.ports ?? []).flatMap(({ hostPort }) => hostPort ?? []);
  if (ports(pod).some((port) => here.some((other) => ports(other).includes(port)))) return false;
  return affinityHolds(pod, node, nodes, there) && spreadHolds(pod, node, nodes, there);
}

function affinityHolds(pod: Pod, node: Node, nodes: readonly Node[], there: readonly Pod[]): boolean {
  const zone = node.metadata.labels?.['zone'];
  const near = (app: string): boolean =>
    there.some((other) => appOf(other) === app && zone !== undefined && zoneOf(nodes, other.spec.nodeName) === zone);
  if (pod.spec.affinity?.podAffinity !== undefined) {
    const anywhere = there.some((other) => appOf(other) === 'a' && zoneOf(nodes, other.spec.nodeName) !== undefined);
    if (zone === undefined || (!near('a') && (anywhere || appOf(pod) !== 'a'))) return false;
  }
  if (pod.spec.affinity?.podAntiAffinity !== undefined && near('b')) return false;
  const isShunned = there.some(
    (other) =>
      other.spec.affinity?.podAntiAffinity !== undefined &&
      zone !== undefined &&
      zoneOf(nodes, other.spec.nodeName) === zone,
  );
  return !(isShunned && appOf(pod) === 'b');
}

function spreadHolds(pod: Pod, node: Node, nodes: readonly Node[], there: readonly Pod[]): boolean {
  for (const { maxSkew, labelSelector } of pod.spec.topologySpreadConstraints ?? []) {
    const zone = node.metadata.labels?.['zone'];
    if (zone === undefined) return false;
    const usable = nodes.filter(
      ({ metadata }) =>
        metadata.labels?.['zone'] !== undefined &&
        (pod.spec.nodeSelector === undefined || metadata.labels['zone'] === pod.spec.nodeSelector['zone']),
    );
    const count = (value: string): number =>
      there.filter(
        (other) =>
          matchesLabelSelector(labelSelector, other.metadata.labels ?? {}) &&
          usable.some(({ metadata }) => metadata.name === other.spec.nodeName && metadata.labels?.['zone'] === value),
      ).length;
    const fewest = Math.min(...new Set(usable.map(({ metadata }) => count(metadata.labels?.['zone'] ?? ''))));
    if (count(zone) + 1 - fewest > maxSkew) return false;
  }
  return true;
}

describe('decisions for random clusters', () => {
  it('place pods only where every rule holds, and leave no pod pending that a node could run', () => {
    fc.assert(
      fc.property(nodesArb, podsArb, fc.integer(), (nodes, pods, seed) => {
        const cache = cacheOf({ nodes });
        const there: Pod[] = [];
        for (const pod of pods) {
          const decision = decide(cache, pod, undefined, seed);
          const possible = nodes.filter((node) => mayBe(pod, node, nodes, there)).map(({ metadata }) => metadata.name);
          if (decision.kind !== 'placed') {
            assert.deepEqual(possible, [], `${pod.metadata.name} was left pending`);
            continue;
          }
          assert.ok(possible.includes(decision.nodeName), `${pod.metadata.name} was put on ${decision.nodeName}`);
          const placed = bound(pod, decision.nodeName);
          cache.assume(placed);
          there.push(placed);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('evict only pods of lower priority, only if the pod then fits, and no pod unnecessarily', () => {
    let preempted = 0;
    fc.assert(
      fc.property(nodesArb, podsArb, podArb(99), fc.integer(), (nodes, pods, newcomer, seed) => {
        const cache = cacheOf({ nodes });
        for (const pod of pods) {
          const decision = decide(cache, pod, undefined, seed);
          if (decision.kind === 'placed') cache.assume(bound(pod, decision.nodeName));
        }
        const important = { ...newcomer, spec: { ...newcomer.spec, priority: (newcomer.spec.priority ?? 0) + 2 } };
        const decision = decide(cache, important, undefined, seed);
        if (decision.kind !== 'unschedulable' || decision.preemption === undefined) return;
        preempted++;
        const { nodeName, victims } = decision.preemption;
        const there = nodes.flatMap((node) =>
          [...(cache.node(node.metadata.name)?.pods.values() ?? [])].map(({ pod }) => pod),
        );
        const node = nodes.find(({ metadata }) => metadata.name === nodeName);
        assert.ok(node !== undefined && victims.length > 0);
        const without = (gone: readonly Pod[]): readonly Pod[] => there.filter((pod) => !gone.includes(pod));
        const leaving = victims.map(({ pod }) => pod);
        for (const victim of leaving) {
          assert.equal(victim.spec.nodeName, nodeName);
          assert.ok((victim.spec.priority ?? 0) < important.spec.priority);
        }
        assert.ok(mayBe(important, node, nodes, without(leaving)), 'no room even then');
        // Affinity may require that a victim is gone although it may stay beside others. An eviction of a single pod
        // must be necessary.
        assert.ok(leaving.length > 1 || !mayBe(important, node, nodes, there), 'evicted in vain');
      }),
      { numRuns: 300 },
    );
    assert.ok(preempted > 0);
  });
});
