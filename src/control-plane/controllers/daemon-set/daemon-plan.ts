import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPhase } from '../../../api/pod.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import { isPodAvailable, isPodReady } from '../../controller-runtime/pod-facts.ts';
import { REVISION_HASH_LABEL } from '../../controller-runtime/template-revision.ts';
import { oldestFirst } from './daemon-pods.ts';
import type { NodeEligibility } from './daemon-pods.ts';

/** All facts on which the plans depend. */
export interface DaemonFacts {
  readonly daemonSet: DaemonSet;
  /** All existing nodes, by name. */
  readonly nodes: Pick<ReadonlyMap<string, Node>, 'get' | 'has'>;
  /** The nodes on which a daemon pod should start. */
  readonly starting: ReadonlyMap<string, Node>;
  readonly eligibility: NodeEligibility;
  /** The daemon set's pods by node, without ended pods that are terminating. */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  /** The hash of the newest template. */
  readonly hash: string;
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** The nodes that need a pod. */
  readonly create: readonly string[];
  readonly delete: readonly Pod[];
  /** The ended pods to delete. An event reports each. */
  readonly ended: readonly Pod[];
  /** The milliseconds until the next failed pod may be replaced. */
  readonly retryMs: number | undefined;
}

/** Returns the back-off before a failed pod of a node is replaced; 0 means now. It is called once per node. */
export type FailedPodDelay = (nodeName: string) => number;

interface Draft {
  readonly create: string[];
  readonly delete: Pod[];
  readonly ended: Pod[];
  retryMs: number | undefined;
}

/**
 * Returns the nodes on which the daemon set should have or has pods. Other nodes do not matter, so a pass does not read
 * the nodes of other daemon sets.
 */
export function concernedNodes({ nodes, starting, podsByNode }: DaemonFacts): readonly Node[] {
  const concerned = [...starting.values()];
  for (const name of podsByNode.keys()) {
    const node = starting.has(name) ? undefined : nodes.get(name);
    if (node !== undefined) concerned.push(node);
  }
  return concerned;
}

/**
 * Computes the missing and surplus pods on the nodes (upstream: podsShouldBeOnNode and getUnscheduledPodsWithoutNode).
 */
export function planPlacement(facts: DaemonFacts, failedPodDelay: FailedPodDelay): DaemonPlan {
  const draft: Draft = { create: [], delete: [], ended: [], retryMs: undefined };
  for (const node of concernedNodes(facts)) planNode(facts, node, draft, failedPodDelay);
  for (const [nodeName, pods] of facts.podsByNode) {
    // The pod was created for a deleted node: the scheduler cannot place it, and no other controller deletes it.
    if (!facts.nodes.has(nodeName))
      draft.delete.push(
        ...pods.filter(
          ({ spec, metadata }) => (spec.nodeName ?? '') === '' && metadata.deletionTimestamp === undefined,
        ),
      );
  }
  return draft;
}

function planNode(facts: DaemonFacts, node: Node, draft: Draft, failedPodDelay: FailedPodDelay): void {
  const { name } = node.metadata;
  const { starts, stays } = facts.eligibility.of(node);
  const pods = facts.podsByNode.get(name) ?? [];
  if (starts && pods.length === 0) draft.create.push(name);
  else if (!stays) draft.delete.push(...pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
  else {
    const running = settleEnded(pods, draft, () => failedPodDelay(name));
    if (!allowsSurge(facts.daemonSet)) draft.delete.push(...oldestFirst(running).slice(1));
    else if (running.length > 1) draft.delete.push(...surplusOfSurge(facts, running));
    else if (running.length === 0 && starts) draft.create.push(name);
  }
}

/** Plans the deletion of ended pods, and returns the remaining ones. */
function settleEnded(pods: readonly Pod[], draft: Draft, failedPodDelay: () => number): Pod[] {
  const running: Pod[] = [];
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const phase = pod.status?.phase;
    if (!isTerminalPhase(phase)) {
      running.push(pod);
      continue;
    }
    // Without the back-off, a node that rejects its pods would get one after another.
    const delayMs = phase === 'Failed' ? failedPodDelay() : 0;
    if (delayMs > 0) draft.retryMs = Math.min(delayMs, draft.retryMs ?? delayMs);
    else {
      draft.ended.push(pod);
      draft.delete.push(pod);
    }
  }
  return running;
}

/**
 * Selects the surplus pods. During a surge, two pods may run on a node: a ready old one and a new one that is not
 * available yet.
 */
function surplusOfSurge({ daemonSet, hash, nowMs }: DaemonFacts, running: readonly Pod[]): Pod[] {
  let newest: Pod | undefined;
  let old: Pod | undefined;
  const surplus: Pod[] = [];
  for (const pod of oldestFirst(running)) {
    const isNew = pod.metadata.labels?.[REVISION_HASH_LABEL] === hash;
    if (isNew && newest === undefined) newest = pod;
    else if (!isNew && old === undefined) old = pod;
    else surplus.push(pod);
  }
  if (
    newest !== undefined &&
    old !== undefined &&
    (!isPodReady(old) || isPodAvailable(newest, daemonSet.spec.minReadySeconds ?? 0, nowMs))
  )
    surplus.push(old);
  return surplus;
}

export function surgeCount({ spec }: DaemonSet, nodes: number): number {
  return spec.updateStrategy?.type === 'OnDelete'
    ? 0
    : scaledValue(spec.updateStrategy?.rollingUpdate?.maxSurge, nodes, 'up');
}

export function unavailableCount({ spec }: DaemonSet, nodes: number): number {
  return spec.updateStrategy?.type === 'OnDelete'
    ? 0
    : scaledValue(spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, nodes, 'up');
}

function allowsSurge(daemonSet: DaemonSet): boolean {
  return surgeCount(daemonSet, 1) > 0;
}
