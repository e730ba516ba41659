/**
 * Why a plugin does not let a pod run on a node (upstream: fwk.Status). Success is the absence of one; what went wrong
 * inside a plugin is thrown. `UnschedulableAndUnresolvable` says that evicting other pods would not help.
 */
export type RejectionCode = 'Unschedulable' | 'UnschedulableAndUnresolvable';

export interface Rejection {
  readonly code: RejectionCode;
  /** As people see them in events: each is counted over the nodes. */
  readonly reasons: readonly string[];
  /** The plugin that said so: its queueing hints decide which events wake the pod. */
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
