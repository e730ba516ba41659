import type { Pod } from '../../../api/core/pod.ts';
import { isPodAvailable } from '../../controller-runtime/pod-facts.ts';
import { isUpdated } from './daemon-pods.ts';
import { surgeCount, unavailableCount } from './daemon-plan.ts';
import type { DaemonFacts } from './daemon-plan.ts';

export interface RolloutPlan {
  readonly create: readonly string[];
  readonly delete: readonly Pod[];
}

/**
 * The pods of a node that are not terminating: at most one of each kind. Otherwise it is `surplus`, which the placement
 * must remove first.
 */
type OnNode =
  | { readonly kind: 'surplus' }
  | { readonly kind: 'settled'; readonly updated: Pod | undefined; readonly old: Pod | undefined };

/**
 * Plans one round of a rolling update. It must be called only when the placement is complete (upstream:
 * controller/daemon/update.go rollingUpdate).
 */
export function planRollout(facts: DaemonFacts): RolloutPlan {
  const { daemonSet, starting, podsByNode } = facts;
  const wanted = starting.size;
  const names = [...new Set([...podsByNode.keys(), ...starting.keys()])].sort();
  const maxSurge = surgeCount(daemonSet, wanted);
  const given = unavailableCount(daemonSet, wanted);
  // If both are zero, the update could not proceed.
  const maxUnavailable = wanted > 0 && given === 0 && maxSurge === 0 ? 1 : given;
  return maxSurge === 0 ? replaceInPlace(facts, names, maxUnavailable) : replaceBySurge(facts, names, maxSurge, wanted);
}

function onNode({ daemonSet, podsByNode, hash }: DaemonFacts, name: string): OnNode {
  let updated: Pod | undefined;
  let old: Pod | undefined;
  for (const pod of podsByNode.get(name) ?? []) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const isNew = isUpdated(daemonSet, pod, hash);
    if ((isNew ? updated : old) !== undefined) return { kind: 'surplus' };
    if (isNew) updated = pod;
    else old = pod;
  }
  return { kind: 'settled', updated, old };
}

/**
 * Deletes old pods; the placement creates new ones. Unavailable pods are deleted first, then as many others as may be
 * unavailable.
 */
function replaceInPlace(facts: DaemonFacts, names: readonly string[], maxUnavailable: number): RolloutPlan {
  const available = (pod: Pod): boolean => isPodAvailable(pod, facts.daemonSet.spec.minReadySeconds ?? 0, facts.nowMs);
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const name of names) {
    const found = onNode(facts, name);
    if (found.kind === 'surplus' || (found.updated === undefined) === (found.old === undefined)) unavailable++;
    else if (found.updated !== undefined) unavailable += available(found.updated) ? 0 : 1;
    else if (found.old !== undefined && available(found.old)) candidates.push(found.old);
    else if (found.old !== undefined) {
      broken.push(found.old);
      unavailable++;
    }
  }
  return { create: [], delete: [...broken, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))] };
}

/**
 * Creates new pods beside old ones, and deletes an old one when its successor is available, or if it was not available
 * itself.
 */
function replaceBySurge(facts: DaemonFacts, names: readonly string[], maxSurge: number, wanted: number): RolloutPlan {
  const { nodes, eligibility } = facts;
  const available = (pod: Pod): boolean => isPodAvailable(pod, facts.daemonSet.spec.minReadySeconds ?? 0, facts.nowMs);
  const deleted: Pod[] = [];
  const misplaced: Pod[] = [];
  const create: string[] = [];
  const candidates: string[] = [];
  let surging = 0;
  let availableNodes = 0;
  for (const name of names) {
    const found = onNode(facts, name);
    if (found.kind === 'surplus') {
      surging++;
      continue;
    }
    const { updated, old } = found;
    const counted = old ?? updated;
    if (counted !== undefined && available(counted)) availableNodes++;
    if (old === undefined) continue;
    if (updated !== undefined) {
      if (available(updated)) deleted.push(old);
      else surging++;
      continue;
    }
    const node = nodes.get(name);
    // The pod garbage collector handles pods on deleted nodes.
    if (node === undefined) continue;
    const starts = eligibility.of(node).starts;
    if (available(old)) {
      if (starts) candidates.push(name);
      else misplaced.push(old);
    } else if (starts) create.push(name);
    else deleted.push(old);
  }
  // With a surge, no pod may be unavailable: pods on nodes that need none stay until the others are available.
  const spare = Math.max(0, availableNodes - wanted);
  return {
    create: [...create, ...candidates.slice(0, Math.max(0, maxSurge - surging))],
    delete: [...deleted, ...misplaced.slice(0, spare)],
  };
}
