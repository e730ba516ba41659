import type { Pod } from '../../api/core/pod.ts';

/** The source of a pod's desired state, as in the annotation kubernetes.io/config.source. */
export type PodSource = 'file' | 'http' | 'server' | 'api';

/**
 * What changed in one source, in upstream's terms. ADD: new. UPDATE: spec or metadata changed. DELETE: marked for
 * graceful deletion (deletionTimestamp). REMOVE: removed from the source. RECONCILE: another client changed only the
 * status.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}
