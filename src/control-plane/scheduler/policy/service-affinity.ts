import { compileLabelSelector } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { MAX_NODE_SCORE, checkWith, skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unschedulable } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';

/** Returns the selectors of the Services that select the pod. */
function servicesOf({ namespace, labels }: PodInfo, { objects }: Snapshot): readonly ((other: PodInfo) => boolean)[] {
  const found: ((other: PodInfo) => boolean)[] = [];
  for (const { spec } of objects.services(namespace)) {
    const selector = spec.selector ?? {};
    if (Object.keys(selector).length === 0) continue;
    const matcher = compileLabelSelector({ matchLabels: selector });
    if (matcher.matches(labels)) found.push((other) => other.namespace === namespace && matcher.matches(other.labels));
  }
  return found;
}

/**
 * Requires that all pods of a Service run on nodes with the same values of these labels. The values come from the pod's
 * nodeSelector, else from the node of the Service's first pod (upstream up to 1.22: ServiceAffinity Filter).
 */
export function createServiceAffinity(name: string, affinityLabels: readonly string[]): Plugin {
  const rejection = unschedulable(name, "node(s) didn't match service affinity");
  return {
    name,
    hints: { Node: [{ actions: ['Add', 'UpdateNodeLabel'] }], Pod: [{ actions: ['Add', 'Delete', 'UpdatePodLabel'] }] },
    preFilter: (pod, snapshot) => {
      const wanted = new Map<string, string>();
      const selector = pod.pod.spec.nodeSelector ?? {};
      for (const label of affinityLabels) {
        const value = Object.hasOwn(selector, label) ? selector[label] : undefined;
        if (value !== undefined) wanted.set(label, value);
      }
      if (wanted.size < affinityLabels.length) {
        const [ofFirst] = servicesOf(pod, snapshot);
        const node = ofFirst === undefined ? undefined : nodeOfAny(snapshot, ofFirst, pod);
        for (const label of affinityLabels) {
          const value = node?.labels[label];
          if (!wanted.has(label) && value !== undefined) wanted.set(label, value);
        }
      }
      if (wanted.size === 0) return skip;
      return checkWith(({ labels }) =>
        [...wanted].every(([label, value]) => labels[label] === value) ? undefined : rejection,
      );
    },
  };
}

function nodeOfAny(snapshot: Snapshot, isOfService: (other: PodInfo) => boolean, pod: PodInfo): NodeInfo | undefined {
  for (const node of snapshot.nodes())
    for (const other of node.pods.values()) if (other.uid !== pod.uid && isOfService(other)) return node;
  return undefined;
}

/** Spreads the pods of a Service over the values of a label (upstream up to 1.22: ServiceAffinity Score). */
export function createServiceAntiAffinity(name: string, label: string): Plugin {
  return {
    name,
    preScore: (pod, snapshot, nodes) => {
      const [ofFirst] = servicesOf(pod, snapshot);
      const counts = new Map<string, number>();
      let total = 0;
      for (const node of ofFirst === undefined ? [] : snapshot.nodes()) {
        const value = node.labels[label];
        for (const other of node.pods.values()) {
          if (other.pod.metadata.deletionTimestamp !== undefined || ofFirst?.(other) !== true) continue;
          total++;
          if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
        }
      }
      const labelled = new Set(nodes.filter((node) => Object.hasOwn(node.labels, label)));
      return {
        score: (node) => {
          if (!labelled.has(node)) return 0;
          if (total === 0) return MAX_NODE_SCORE;
          return Math.trunc((MAX_NODE_SCORE * (total - (counts.get(node.labels[label] ?? '') ?? 0))) / total);
        },
      };
    },
  };
}
