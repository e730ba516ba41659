import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { PodUid } from '../../model/ids.ts';
import type { Observation } from './observation.ts';

/** The part of admission's verdict that is counted. */
export type CountedVerdict = { readonly kind: 'rejected' | 'held' | 'preempted'; readonly reason: string } | undefined;

export interface PodStatusChange {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly previous: PodStatus | undefined;
}

/** Counts new pods, starts and rejections. `verdictOn` returns admission's current verdict on a pod. */
export function observePodStatuses(
  { metrics: { main }, starts }: Pick<Observation, 'metrics' | 'starts'>,
  verdictOn: (uid: PodUid) => CountedVerdict,
): (change: PodStatusChange) => void {
  return ({ uid, pod, status, previous }) => {
    starts.statusChanged(pod, status);
    if (previous === undefined) main.observe('kubelet_containers_per_pod_count', {}, pod.spec.containers.length);
    if (status.phase !== 'Failed' || previous?.phase === 'Failed') return;
    const verdict = verdictOn(uid);
    if (verdict?.kind === 'rejected') main.count('kubelet_admission_rejections_total', { reason: verdict.reason });
  };
}
