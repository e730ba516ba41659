import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { PodCheck } from '../framework/plugin.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';

/** The checks that the profile's plugins make for one pod, in their order. */
export type Checks = readonly PodCheck[];

/** The first rejection counts. */
function runChecks(checks: Checks, node: NodeInfo): Rejection | undefined {
  for (const check of checks) {
    const rejection = check.filter(node);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

export const cloneChecks = (checks: Checks): Checks => checks.map((check) => check.others?.clone() ?? check);

/** Puts a pod on a copy of a node, for all checks. */
export function pretendAdded(checks: Checks, other: PodInfo, node: NodeInfo): void {
  node.addPod(other);
  for (const check of checks) check.others?.added(other, node);
}

export function pretendRemoved(checks: Checks, other: PodInfo, node: NodeInfo): void {
  node.removePod(other.uid);
  for (const check of checks) check.others?.removed(other, node);
}

/**
 * As `runChecks`, and again as if the pods were there already that were promised this node and are at least as
 * important. Both have to pass: they may never come, and affinity must not count on absent pods (upstream:
 * RunFilterPluginsWithNominatedPods).
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
