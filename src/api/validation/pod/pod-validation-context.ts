import type { ClusterPolicy } from '../cluster-policy.ts';

/**
 * A fault that an older version let in, or that a gate did: an object that has it may be written again, others may not
 * get it.
 */
export type OldFault =
  | 'comparingToleration'
  | 'deletionCost'
  | 'hostSysctl'
  | 'indivisibleHugePages'
  | 'labelValueInSelector'
  | 'nodeAffinityValue'
  | 'restartingInitContainer'
  | 'seLinuxChangePolicy'
  | 'spreadSelector'
  | 'tokenPath'
  | 'userNamespaceOnHostNetwork'
  | 'userNamespaceWithDevices';

/**
 * What the validity of a pod depends on besides the pod. `createPodContext` and `createTemplateContext` compute it once
 * for each write; the validators hand it down (upstream: PodValidationOptions).
 */
export interface PodValidationContext {
  /** A pod has all its defaults. A template gets the rest when a pod is made of it. */
  readonly subject: 'pod' | 'template';
  readonly policy: ClusterPolicy;
  /** Whether the object had this fault before the write. False for a creation. */
  hadBefore(fault: OldFault): boolean;
}
