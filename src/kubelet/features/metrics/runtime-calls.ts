import type { AgentMetrics } from './agent-metrics.ts';

export interface RuntimeCall {
  /** The name of the RPC, such as `RunPodSandbox`. */
  readonly op: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** Converts `RunPodSandbox` to `run_podsandbox` (upstream: kuberuntime/instrumented_services.go). */
export function operationType(op: string): string {
  if (op === 'UpdateContainerResources') return 'update_container';
  return op
    .replace('PodSandbox', 'Podsandbox')
    .replace(/(?<!^)([A-Z])/g, '_$1')
    .toLowerCase();
}

export function noteRuntimeCall({ main }: Pick<AgentMetrics, 'main'>, { op, durationMs, failed }: RuntimeCall): void {
  const labels = { operation_type: operationType(op) };
  main.count('kubelet_runtime_operations_total', labels);
  main.observe('kubelet_runtime_operations_duration_seconds', labels, durationMs / 1000);
  if (failed) main.count('kubelet_runtime_operations_errors_total', labels);
}
