import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { PodCheck } from '../framework/plugin.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';

/** The node checks of a profile's plugins for one pod, in plugin order. */
export type Checks = readonly PodCheck[];

/** Runs the checks and returns the first rejection. */
function runChecks(checks: Checks, node: NodeInfo): Rejection | undefined {
  for (const check of checks) {
    const rejection = check.filter(node);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

export const cloneChecks = (checks: Checks): Checks => checks.map((check) => check.others?.clone() ?? check);

/** Adds a pod to a copy of a node, and to the state of all checks. */
export function pretendAdded(checks: Checks, other: PodInfo, node: NodeInfo): void {
  node.addPod(other);
  for (const check of checks) check.others?.added(other, node);
}

export function pretendRemoved(checks: Checks, other: PodInfo, node: NodeInfo): void {
  node.removePod(other.uid);
  for (const check of checks) check.others?.removed(other, node);
}

/**
 * Runs the checks twice: with the node as it is, and with the pods nominated for this node that have at least the same
 * priority. Both runs must pass, because nominated pods may never arrive and affinity must not depend on absent pods
 * (upstream: RunFilterPluginsWithNominatedPods).
 */
export function runChecksWithNominated(
  checks: Checks,
  pod: PodInfo,
  node: NodeInfo,
  snapshot: Snapshot,
): Rejection | undefined {
  let isCopied = false;
  let checksThen = checks;
  let nodeThen = node;
  for (const other of snapshot.nominatedPods(node.name)) {
    if (other.uid === pod.uid || other.priority < pod.priority) continue;
    if (!isCopied) {
      isCopied = true;
      checksThen = cloneChecks(checks);
      nodeThen = node.clone();
    }
    pretendAdded(checksThen, other, nodeThen);
  }
  const rejection = isCopied ? runChecks(checksThen, nodeThen) : undefined;
  return rejection ?? runChecks(checks, node);
}
