import type { ContainerPort } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { isHostNetwork } from '../../../../api/pod.ts';
import { dottedSysctl } from '../../../../api/sysctl-name.ts';
import { podUid } from '../../../model/ids.ts';
import type { PortMapping, SandboxConfig } from '../../../ports/runtime.ts';
import type { DnsConfig } from './dns-config.ts';
import { kernelHostname } from './hosts-file.ts';
import { podLabels } from './labels.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';
import { sandboxResources } from './resources-config.ts';
import { sandboxSecurity } from './security-config.ts';

export interface SandboxFacts {
  readonly settings: ContainerSettings;
  readonly node: NodeFacts;
  readonly placement: PodPlacement;
  readonly dns: DnsConfig;
}

/** Returns the log directory of a pod: `<podLogsDir>/NAMESPACE_NAME_UID`. */
export function podLogDirectory(pod: Pod, podLogsDir: string): string {
  const { namespace, name, uid } = pod.metadata;
  return `${podLogsDir}/${namespace}_${name}_${uid}`;
}

/** Builds CRI's sandbox configuration (upstream: kuberuntime_sandbox.go generatePodSandboxConfig). Throws `Invalid`. */
export function sandboxConfig(pod: Pod, attempt: number, facts: SandboxFacts): SandboxConfig {
  const { settings, placement, dns } = facts;
  return {
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    uid: podUid(pod.metadata.uid),
    attempt,
    // On the host's network the pod has the host's name.
    hostname: isHostNetwork(pod) ? '' : kernelHostname(pod, settings.clusterDomain),
    logDirectory: podLogDirectory(pod, settings.podLogsDir),
    dns,
    portMappings: pod.spec.containers.flatMap((container) => portMappings(container.ports ?? [])),
    labels: podLabels(pod),
    annotations: { ...pod.metadata.annotations },
    cgroupParent: placement.cgroupParent,
    sysctls: sysctls(pod),
    ...sandboxResources(pod, facts),
    security: sandboxSecurity(pod, placement),
  };
}

/**
 * Returns the ports of one container. Duplicate names and duplicate ports count once (upstream: container/helpers.go
 * MakePortMappings).
 */
function portMappings(ports: readonly ContainerPort[]): PortMapping[] {
  const seen = new Set<string>();
  const mappings: PortMapping[] = [];
  for (const { name = '', containerPort, hostPort = 0, protocol = 'TCP', hostIP: hostIp = '' } of ports) {
    const family = hostIp === '' ? 'any' : hostIp.includes(':') ? 'v6' : 'v4';
    const key = name === '' ? `${family}-${protocol}-${hostIp}:${containerPort}:${hostPort}` : name;
    if (seen.has(key)) continue;
    seen.add(key);
    mappings.push({ protocol, containerPort, hostPort, hostIp });
  }
  return mappings;
}

/**
 * Returns the sysctls with dots as separators, by which the runtime recognizes namespaced ones (upstream:
 * ConvertPodSysctlsVariableToDotsSeparator).
 */
function sysctls(pod: Pod): Record<string, string> {
  return Object.fromEntries(
    (pod.spec.securityContext?.sysctls ?? []).map(({ name, value }) => [dottedSysctl(name), value]),
  );
}
