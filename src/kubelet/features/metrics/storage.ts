import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

/** Counts a finished volume operation. Volumes are never migrated from another kind here (upstream: CSI migration). */
export function noteVolumeOperation(
  { main }: Main,
  { plugin, name, durationMs, failed }: { plugin: string; name: string; durationMs: number; failed: boolean },
): void {
  main.observe(
    'storage_operation_duration_seconds',
    { volume_plugin: plugin, operation_name: name, status: failed ? 'fail-unknown' : 'success', migrated: 'false' },
    durationMs / 1000,
  );
}

/** Counts a call to a CSI driver. `code` is Go's spelling; a call that was not made has none. */
export function noteCsiCall(
  { main }: Main,
  { driver, method, code, durationMs }: { driver: string; method: string; code: string; durationMs: number },
): void {
  const labels = {
    driver_name: driver,
    method_name: `/csi.v1.Node/${method}`,
    grpc_status_code: code === 'Local' ? 'unknown-non-grpc' : code,
    migrated: 'false',
  };
  main.observe('csi_operations_seconds', labels, durationMs / 1000);
}

export interface StorageFacts {
  readonly volumes: {
    desired: ReadonlyMap<string, number>;
    actual: ReadonlyMap<string, number>;
    reconstructed: number;
    orphans: { found: number; left: number };
  };
  readonly plugins: { desired: readonly string[]; registered: readonly string[] };
}

/** Sets the number of current volumes and plugins. */
export function countStorage({ main }: Main, { volumes, plugins }: StorageFacts): void {
  main.clear('volume_manager_total_volumes');
  for (const [state, counts] of [
    ['desired_state_of_world', volumes.desired],
    ['actual_state_of_world', volumes.actual],
  ] as const) {
    for (const [plugin, count] of counts)
      main.set('volume_manager_total_volumes', { plugin_name: plugin, state }, count);
  }
  main.clear('plugin_manager_total_plugins');
  for (const [state, paths] of [
    ['desired_state_of_world', plugins.desired],
    ['actual_state_of_world', plugins.registered],
  ] as const) {
    for (const path of paths) main.set('plugin_manager_total_plugins', { socket_path: path, state }, 1);
  }
  main.setTotal('reconstruct_volume_operations_total', {}, volumes.reconstructed);
  main.set('kubelet_orphan_pod_cleaned_volumes', {}, volumes.orphans.found);
  main.set('kubelet_orphan_pod_cleaned_volumes_errors', {}, volumes.orphans.left);
}
