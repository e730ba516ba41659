import type { Rejection } from '../framework/rejection.ts';

/** The reasons why no node fits a pod, as data. It answers "why is this pod pending?". */
export interface Diagnosis {
  readonly nodeCount: number;
  /** The rejection of each checked node. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** The rejection that applies to all nodes that were not checked. */
  readonly absent: Rejection;
  /** The reasons of preFilter plugins, which apply to all nodes. */
  readonly preFilterReasons: readonly string[];
  /** The message of the postFilter plugins, for example of preemption. */
  readonly postFilterMessage: string;
  /** The plugins that rejected the pod. Their hints decide which events retry it. */
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

/** Counts the reasons and sorts the texts, so `10 x` precedes `2 y` as in upstream. */
function countReasons(rejections: ReadonlyMap<string, Rejection>, absent: Rejection, nodeCount: number): string {
  const counts = new Map<string, number>();
  const add = (reasons: readonly string[], times: number): void =>
    reasons.forEach((reason) => counts.set(reason, (counts.get(reason) ?? 0) + times));
  for (const { reasons } of rejections.values()) add(reasons, 1);
  if (rejections.size < nodeCount) add(absent.reasons, nodeCount - rejections.size);
  const lines = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return lines.sort((left, right) => (left < right ? -1 : left > right ? 1 : 0)).join(', ');
}
