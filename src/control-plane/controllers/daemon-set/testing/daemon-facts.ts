import type { DaemonSet, DaemonSetSpec } from '../../../../api/apps/daemon-set.ts';
import type { Node, Taint } from '../../../../api/core/node.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import { NodeEligibility, targetNode } from '../daemon-pods.ts';
import type { DaemonFacts } from '../daemon-plan.ts';

const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
const READY_SINCE = '2026-01-01T00:00:00Z';

export function buildDaemonSet(spec: Partial<DaemonSetSpec> = {}, metadata: object = {}): DaemonSet {
  return {
    metadata: { name: 'agent', namespace: 'default', uid: 'ds-1', generation: 3, ...metadata },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: { metadata: { labels: { app: 'agent' } }, spec: buildPod().spec },
      ...spec,
    },
  };
}

export function buildNode(name: string, ...taints: (keyof typeof TAINTS)[]): Node {
  return { metadata: { name, namespace: '', uid: name }, spec: { taints: taints.map((each) => TAINTS[each]) } };
}
const TAINTS = {
  /** A taint that keeps new daemon pods away and lets existing ones stay. */
  closed: { key: 'closed', effect: 'NoSchedule' },
  /** A taint that also evicts daemon pods. */
  evicts: { key: 'evicts', effect: 'NoExecute' },
} as const satisfies Record<string, Taint>;

/**
 * Builds a daemon pod from words: `new` or `old` (its template), `ready`, `failed`, `done`, `leaving`, `pending`
 * (created for the node and not yet bound).
 */
export function buildDaemon(name: string, node: string, words: string, changes: Record<string, unknown> = {}): Pod {
  const has = (word: string): boolean => words.split(' ').includes(word);
  const terms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }];
  const required = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution';
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'metadata.labels': { 'controller-revision-hash': has('new') ? 'new' : 'old' },
    ...(has('leaving') && { 'metadata.deletionTimestamp': READY_SINCE }),
    ...(has('pending') ? { [required]: { nodeSelectorTerms: terms } } : { 'spec.nodeName': node }),
    ...(has('failed') && { 'status.phase': 'Failed' }),
    ...(has('done') && { 'status.phase': 'Succeeded' }),
    ...(has('ready') && {
      'status.phase': 'Running',
      'status.conditions': [{ type: 'Ready', status: 'True', lastTransitionTime: READY_SINCE }],
    }),
    ...changes,
  });
}

export interface GivenDaemons {
  readonly spec?: Partial<DaemonSetSpec>;
  readonly metadata?: object;
  readonly nodes: readonly Node[];
  readonly pods?: readonly Pod[];
}

/** Builds the facts. The hash of the newest template is `new`. */
export function buildDaemonFacts({ spec, metadata, nodes, pods = [] }: GivenDaemons): DaemonFacts {
  const daemonSet = buildDaemonSet(spec, metadata);
  const podsByNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod) ?? '';
    podsByNode.set(node, [...(podsByNode.get(node) ?? []), pod]);
  }
  const eligibility = new NodeEligibility(daemonSet.spec.template);
  const byName = nodes.map((node): [string, Node] => [node.metadata.name, node]);
  return {
    daemonSet,
    nodes: new Map(byName),
    starting: new Map(byName.filter(([, node]) => eligibility.of(node).starts)),
    eligibility,
    podsByNode,
    hash: 'new',
    nowMs: NOW_MS,
  };
}
