import { isRecord } from '../../../base/json-record.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';

/** One line of the record of published statuses: the newest status of a pod, or that the pod has none any more. */
export type StatusLine = { readonly uid: string; readonly status: PodStatus } | { readonly gone: string };

/** Reads the newest status of each pod from the record of an earlier run. Invalid lines count as lost. */
export function readStatuses(lines: readonly unknown[]): Map<string, PodStatus> {
  const statuses = new Map<string, PodStatus>();
  for (const line of lines) {
    if (!isRecord(line)) continue;
    if (typeof line['gone'] === 'string') statuses.delete(line['gone']);
    else if (typeof line['uid'] === 'string' && isRecord(line['status'])) statuses.set(line['uid'], line['status']);
  }
  return statuses;
}
