import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { SchedulerCache } from '../cache/scheduler-cache.ts';
import { mayHelp, nodeActions, podActions } from '../framework/cluster-event.ts';
import type { ClusterEvent } from '../framework/cluster-event.ts';
import { nodeArb, nodesArb, podArb } from '../testing/arbitraries.ts';
import { bound, cacheOf, decide, defaultProfile } from '../testing/builders.ts';

const profile = defaultProfile();

const nodeAt = fc.nat(3).chain((index) => fc.record({ index: fc.constant(index), node: nodeArb(index) }));
const changeArb = fc.oneof(
  nodeAt.map(({ node }) => ({ kind: 'setNode' as const, node })),
  fc.nat(3).map((index) => ({ kind: 'removeNode' as const, name: `n${index}` })),
  fc.record({ kind: fc.constant('addPod' as const), pod: podArb(50), on: fc.nat(3) }),
  fc.record({ kind: fc.constant('removePod' as const), index: fc.nat(9) }),
  fc.record({ kind: fc.constant('changePod' as const), index: fc.nat(9), like: podArb(51) }),
  fc.record({ kind: fc.constant('changeSelf' as const), like: podArb(52) }),
);
type Change = typeof changeArb extends fc.Arbitrary<infer T> ? T : never;

/** Applies the change, and returns its event and the resulting pod. */
function apply(
  cache: SchedulerCache,
  placed: readonly Pod[],
  pod: Pod,
  change: Change,
): { readonly event: ClusterEvent | undefined; readonly pod: Pod } {
  switch (change.kind) {
    case 'setNode': {
      const before = cache.node(change.node.metadata.name)?.node;
      cache.setNode(change.node);
      const actions = before === undefined ? (['Add'] as const) : nodeActions(before, change.node);
      return {
        pod,
        event:
          actions.length === 0
            ? undefined
            : { resource: 'Node', actions, ...(before !== undefined && { before }), after: change.node },
      };
    }
    case 'removeNode': {
      const before: Node | undefined = cache.node(change.name)?.node;
      cache.removeNode(change.name);
      return { pod, event: before === undefined ? undefined : { resource: 'Node', actions: ['Delete'], before } };
    }
    case 'addPod': {
      const after = bound(change.pod, `n${change.on}`);
      cache.setPod(after);
      return { pod, event: { resource: 'Pod', actions: ['Add'], after } };
    }
    case 'removePod':
    case 'changePod': {
      const before = placed[change.index];
      if (before === undefined) return { pod, event: undefined };
      if (change.kind === 'removePod') {
        cache.removePod(before.metadata.uid);
        return { pod, event: { resource: 'Pod', actions: ['Delete'], before } };
      }
      // The labels and resources of a running pod can change.
      const resources = change.like.spec.containers[0]?.resources ?? {};
      const containers = before.spec.containers.map((container) => ({ ...container, resources }));
      const after = {
        ...before,
        metadata: { ...before.metadata, labels: change.like.metadata.labels ?? {} },
        spec: { ...before.spec, containers },
      };
      cache.setPod(after);
      return { pod, event: { resource: 'Pod', actions: podActions(before, after), before, after } };
    }
    case 'changeSelf': {
      const { tolerations = [] } = change.like.spec;
      const after = {
        ...pod,
        metadata: { ...pod.metadata, labels: change.like.metadata.labels ?? {} },
        spec: { ...pod.spec, tolerations: [...(pod.spec.tolerations ?? []), ...tolerations] },
      };
      return { pod: after, event: { resource: 'Pod', actions: podActions(pod, after), before: pod, after } };
    }
  }
}

describe('the hints of the plugins', () => {
  it('include every event after which a rejected pod could run', () => {
    const helped = new Map<string, number>();
    fc.assert(
      fc.property(
        nodesArb,
        fc.array(fc.tuple(podArb(0), fc.nat(3)), { maxLength: 8 }),
        podArb(40),
        changeArb,
        (nodes, there, newcomer, change) => {
          const placed = there.map(([pod, index], serial) =>
            bound(
              { ...pod, metadata: { ...pod.metadata, name: `there-${serial}`, uid: `there-${serial}` } },
              `n${index}`,
            ),
          );
          const cache = cacheOf({ nodes: nodes.slice(0, 3), pods: placed });
          const first = decide(cache, newcomer, profile);
          fc.pre(first.kind === 'unschedulable');
          const { event, pod } = apply(cache, placed, newcomer, change);
          if (decide(cache, pod, profile).kind !== 'placed') return;
          assert.ok(event !== undefined, 'no event would have woken the pod');
          const hopeful = [...first.diagnosis.rejectors].filter((name) =>
            mayHelp(profile.plugins.get(name)?.hints ?? {}, pod, event),
          );
          assert.notDeepEqual(
            hopeful,
            [],
            `rejected by ${[...first.diagnosis.rejectors].join(', ')}: ${first.message}`,
          );
          for (const name of first.diagnosis.rejectors) helped.set(name, (helped.get(name) ?? 0) + 1);
        },
      ),
      { numRuns: 4000 },
    );
    // The random cases covered each of these plugins.
    for (const name of [
      'NodeResourcesFit',
      'TaintToleration',
      'NodeUnschedulable',
      'NodeAffinity',
      'NodePorts',
      'InterPodAffinity',
      'PodTopologySpread',
    ])
      assert.ok(helped.has(name), name);
  });
});
