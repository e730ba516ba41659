import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';

/** Returns the NUMA nodes that the topology manager chose for a container; undefined if it chose none. */
export interface TopologyAffinity {
  affinity(uid: PodUid, container: string): readonly number[] | undefined;
}

/** The result of one allocation, in the form that admission expects from a step. */
export type DeviceVerdict =
  | { readonly kind: 'admit' }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string }
  | { readonly kind: 'hold'; readonly why: string; readonly retryAfterMs?: number };

/** Allocates the devices of a pod before it is admitted. */
export interface DeviceAdmissionStep {
  readonly name: string;
  admit(request: { readonly pod: Pod }, signal: AbortSignal): Promise<DeviceVerdict>;
  readonly timeoutMs: number;
}
