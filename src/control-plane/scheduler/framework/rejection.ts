/**
 * Why a plugin does not let a pod run on a node (upstream: fwk.Status). Success is `undefined`; an error inside a
 * plugin is thrown. `UnschedulableAndUnresolvable` means that evicting other pods would not help.
 */
export type RejectionCode = 'Unschedulable' | 'UnschedulableAndUnresolvable';

export interface Rejection {
  readonly code: RejectionCode;
  /** The reasons in events: each is counted over the nodes. */
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
