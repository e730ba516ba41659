import { copyJson } from '../../base/copy-json.ts';
import type { Service } from '../core/service.ts';

const AFFINITY_TIMEOUT_SECONDS = 10_800;

/**
 * A copy with the defaults that the API server sets, except addresses and ports that it would allocate (upstream:
 * SetDefaults_Service and the storage's normalization of cluster IPs).
 */
export function defaultService(service: Service): Service {
  const copy = copyJson(service);
  const { spec } = copy;
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined)
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_TIMEOUT_SECONDS } };
  spec.type ||= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port;
  }
  if (isExternallyReachable(copy)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  return copy;
}

/**
 * Sets clusterIPs from clusterIP in a new service from a client that only knows the older field (upstream:
 * normalizeClusterIPs).
 */
export function withClusterIps(service: Service): Service {
  const { clusterIP, clusterIPs = [] } = service.spec;
  return clusterIP && clusterIPs.length === 0
    ? { ...service, spec: { ...service.spec, clusterIPs: [clusterIP] } }
    : service;
}

/** Upstream: api/service ExternallyAccessible. */
export function isExternallyReachable({ spec }: Service): boolean {
  return (
    spec.type === 'LoadBalancer' ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
  );
}
