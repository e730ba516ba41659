import type { ClusterPolicy } from '../cluster-policy.ts';

/**
 * A fault that older versions or feature gates accepted: an object that has it may be updated, other objects must not
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
 * The context that the validity of a pod depends on. `createPodContext` and `createTemplateContext` compute it once for
 * each write, and validators pass it on (upstream: PodValidationOptions).
 */
export interface PodValidationContext {
  /** A pod has all defaults. A template gets the others when a pod is created from it. */
  readonly subject: 'pod' | 'template';
  readonly policy: ClusterPolicy;
  /** Whether the object had this fault before the write. False for a creation. */
  hadBefore(fault: OldFault): boolean;
}
