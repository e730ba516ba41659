import type { Service, ServicePort, ServiceSpec } from '../../../../api/core/service.ts';
import { isExternallyReachable } from '../../../../api/defaults/default-service.ts';
import { sameTexts } from '../../../../api/service-families.ts';

export const isHeadless = ({ spec }: Service): boolean =>
  spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None';
export const needsAddress = ({ spec }: Service): boolean => spec.type !== 'ExternalName';
export const needsPorts = ({ spec }: Service): boolean => spec.type === 'NodePort' || spec.type === 'LoadBalancer';
/** Whether the service needs node ports. A load balancer that reaches pods without them may release them. */
const wantsPorts = ({ spec }: Service): boolean =>
  spec.type !== 'LoadBalancer' || spec.allocateLoadBalancerNodePorts !== false;
export const needsHealthPort = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

/**
 * Allocated values that the writer omits are kept; values that the new type does not use are removed. Upstream:
 * patchAllocatedValues, normalizeClusterIPs, dropTypeDependentFields.
 */
export function prepareServiceUpdate(service: Service, old: Service): Service {
  const spec = { ...service.spec };
  keepAddresses(spec, service, old);
  keepPorts(spec, service, old);
  const kept = { ...service, spec };
  dropUnused(kept, old);
  const { loadBalancer, ...status } = service.status ?? {};
  // Only services of type LoadBalancer have a load balancer status.
  return { ...kept, status: { ...status, loadBalancer: spec.type === 'LoadBalancer' ? (loadBalancer ?? {}) : {} } };
}

function keepAddresses(spec: ServiceSpec, service: Service, old: Service): void {
  const before = old.spec;
  const keeps = needsAddress(old) && needsAddress(service);
  if (keeps && !spec.clusterIP) spec.clusterIP = before.clusterIP;
  if (keeps && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = before.clusterIPs;
  // A client that knows only clusterIP has changed it, so clusterIPs follows.
  if (spec.clusterIP && spec.clusterIP !== before.clusterIP && sameTexts(spec.clusterIPs, before.clusterIPs))
    spec.clusterIPs = [spec.clusterIP];
  if (!keeps) return;
  spec.ipFamilyPolicy ??= before.ipFamilyPolicy;
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = before.ipFamilies;
  // SingleStack releases the second family, unless the writer changed the lists.
  if (spec.ipFamilyPolicy !== 'SingleStack') return;
  if (sameTexts(spec.clusterIPs, before.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1);
  if (sameTexts(spec.ipFamilies, before.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1);
}

function keepPorts(spec: ServiceSpec, service: Service, old: Service): void {
  if (needsPorts(old) && needsPorts(service) && wantsPorts(service)) {
    const now = new Set((spec.ports ?? []).map(({ nodePort = 0 }) => nodePort));
    const byName = new Map((old.spec.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]));
    spec.ports = spec.ports?.map((port) => {
      const before = byName.get(port.name ?? '') ?? 0;
      return port.nodePort || before === 0 || now.has(before) ? port : { ...port, nodePort: before };
    });
  }
  if (needsHealthPort(old) && needsHealthPort(service) && !spec.healthCheckNodePort)
    spec.healthCheckNodePort = old.spec.healthCheckNodePort;
}

/**
 * Changes `spec`, which is the caller's own copy. Only unchanged values are removed; validation refuses changed ones.
 */
function dropUnused({ spec, ...rest }: Service, old: Service): void {
  const service = { ...rest, spec };
  const before = old.spec;
  if (needsAddress(old) && !needsAddress(service)) {
    if (sameTexts(spec.clusterIPs, before.clusterIPs) && (spec.clusterIP ?? '') === (before.clusterIP ?? '')) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameTexts(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (
    before.type !== 'ExternalName' &&
    spec.type === 'ExternalName' &&
    spec.internalTrafficPolicy === before.internalTrafficPolicy
  )
    delete spec.internalTrafficPolicy;
  if (needsPorts(old) && !needsPorts(service) && !hasNewPorts(spec.ports, before.ports))
    spec.ports = spec.ports?.map(({ nodePort: _, ...port }) => port);
  if (needsHealthPort(old) && !needsHealthPort(service) && spec.healthCheckNodePort === before.healthCheckNodePort)
    delete spec.healthCheckNodePort;
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === before.allocateLoadBalancerNodePorts)
      delete spec.allocateLoadBalancerNodePorts;
    if (spec.loadBalancerClass === before.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (
    isExternallyReachable(old) &&
    !isExternallyReachable(service) &&
    spec.externalTrafficPolicy === before.externalTrafficPolicy
  )
    delete spec.externalTrafficPolicy;
}

function hasNewPorts(ports: readonly ServicePort[] = [], old: readonly ServicePort[] = []): boolean {
  const before = new Set(old.map(({ nodePort = 0 }) => nodePort));
  return ports.some(({ nodePort = 0 }) => nodePort !== 0 && !before.has(nodePort));
}
