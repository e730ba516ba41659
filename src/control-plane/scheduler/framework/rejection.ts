/**
 * Why a plugin rejects a node for a pod (upstream: fwk.Status). Success is `undefined`, and internal errors are thrown.
 * `UnschedulableAndUnresolvable` means that evicting other pods would not help.
 */
export type RejectionCode = 'Unschedulable' | 'UnschedulableAndUnresolvable';

export interface Rejection {
  readonly code: RejectionCode;
  /** The reasons for events, which count the nodes per reason. */
  readonly reasons: readonly string[];
  /** The rejecting plugin; its queueing hints decide which events retry the pod. */
  readonly plugin: string;
}

export const unschedulable = (plugin: string, ...reasons: readonly string[]): Rejection => ({
  code: 'Unschedulable',
  reasons,
  plugin,
});

export const unresolvable = (plugin: string, ...reasons: readonly string[]): Rejection => ({
  code: 'UnschedulableAndUnresolvable',
  reasons,
  plugin,
});
