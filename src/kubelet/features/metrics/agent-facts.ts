import type { AgentMetrics } from './agent-metrics.ts';

/** The Kubernetes version whose kubelet requires RuntimeConfig. */
const RUNTIME_CONFIG_REQUIRED_SINCE = '1.37.0';

export interface AgentFacts {
  readonly nodeName: string;
  readonly cgroupVersion: number;
  /** Whether the runtime does not implement the CRI call RuntimeConfig. */
  readonly isRuntimeOutdated: boolean;
  readonly build: Readonly<Record<string, string>>;
  readonly gates: readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
}

/** Sets the values that do not change while the agent runs. */
export function setAgentFacts(
  { main }: Pick<AgentMetrics, 'main'>,
  { nodeName, cgroupVersion, isRuntimeOutdated, build, gates }: AgentFacts,
): void {
  main.set('kubelet_node_name', { node: nodeName }, 1);
  main.set('kubelet_cgroup_version', {}, cgroupVersion);
  if (isRuntimeOutdated) main.set('kubelet_cri_losing_support', { version: RUNTIME_CONFIG_REQUIRED_SINCE }, 1);
  main.set('kubelet_metrics_provider', { provider: 'cadvisor' }, 1);
  main.set('kubernetes_build_info', build, 1);
  for (const { name, stage, enabled } of gates)
    main.set('kubernetes_feature_enabled', { name, stage }, enabled ? 1 : 0);
  for (const [stability, count] of main.stabilities())
    main.setTotal('registered_metrics_total', { stability_level: stability, deprecated_version: '' }, count);
  for (const label of ['', 'true']) main.count('kubelet_restarted_pods_total', { static: label }, 0);
  // As upstream, credentials of plugins that were never used cannot expire.
  main.set('rest_client_exec_plugin_ttl_seconds', {}, Infinity);
}
