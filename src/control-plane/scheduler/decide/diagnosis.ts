import type { Rejection } from '../framework/rejection.ts';

/** Why no node would do, as data: the answer to "why is this pod pending?". */
export interface Diagnosis {
  readonly nodeCount: number;
  /** Each node that was checked. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** What holds for nodes that were not checked. */
  readonly absent: Rejection;
  /** Said of all nodes at once, before any was checked. */
  readonly preFilterReasons: readonly string[];
  /** What became of the attempt to make room. */
  readonly postFilterMessage: string;
  /** Plugins that rejected: their hints may wake the pod. */
  readonly rejectors: ReadonlySet<string>;
}

/** Upstream's FitError: `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: ...` */
export function formatDiagnosis({
  nodeCount,
  rejections,
  absent,
  preFilterReasons,
  postFilterMessage,
}: Omit<Diagnosis, 'rejectors'>): string {
  let message = `0/${nodeCount} nodes are available:`;
  const said = preFilterReasons.join(', ');
  if (said !== '') message += ` ${said}.`;
  else {
    const counted = countReasons(rejections, absent, nodeCount);
    if (counted !== '') message += ` ${counted}.`;
  }
  return postFilterMessage === '' ? message : `${message} ${postFilterMessage}`;
}

/** Sorted as texts, so `10 x` comes before `2 y`, as upstream has it. */
function countReasons(rejections: ReadonlyMap<string, Rejection>, absent: Rejection, nodeCount: number): string {
  const counts = new Map<string, number>();
  const add = (reasons: readonly string[], times: number): void =>
    reasons.forEach((reason) => counts.set(reason, (counts.get(reason) ?? 0) + times));
  for (const { reasons } of rejections.values()) add(reasons, 1);
  if (rejections.size < nodeCount) add(absent.reasons, nodeCount - rejections.size);
  const lines = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return lines.sort((left, right) => (left < right ? -1 : left > right ? 1 : 0)).join(', ');
}
