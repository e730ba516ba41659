import type { Pod } from '../../../../api/core/pod.ts';
import type { Service } from '../../../../api/core/service.ts';
import { isStaticPod } from '../../../../api/pod.ts';
import { isKind, KubeletError } from '../../../../base/errors.ts';
import type { ServiceLookup } from '../interfaces.ts';

/** The service through which pods find the API server. Every pod gets its variables. */
const master = { namespace: 'default', name: 'kubernetes' };

/**
 * Loads all services. A pod of the API server waits until they are known; a static pod continues without (upstream:
 * makeEnvironmentVariables).
 */
export async function loadServices(pod: Pod, lookup: ServiceLookup): Promise<readonly Service[]> {
  try {
    return await lookup.services();
  } catch (error) {
    if (!isKind(error, 'Unavailable')) throw error;
    if (isStaticPod(pod)) return [];
    throw new KubeletError('Unavailable', 'services have not yet been read at least once, cannot construct envvars', {
      cause: error,
    });
  }
}

/**
 * Computes the variables through which containers find services: those of the pod's namespace unless it opts out, and
 * always the API server's (upstream: kubelet_pods.go getServiceEnvVarMap, envvars.FromServices). A service without a
 * cluster IP has no variables.
 */
export function computeServiceEnv(
  services: readonly Service[],
  { namespace, enableServiceLinks }: { namespace: string; enableServiceLinks: boolean },
): ReadonlyMap<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { clusterIP = '' } = service.spec;
    if (clusterIP === '' || clusterIP === 'None') continue;
    const { metadata } = service;
    const isMaster = metadata.namespace === master.namespace && metadata.name === master.name;
    // A service of the pod's own namespace takes precedence over the API server's.
    if (isMaster ? !chosen.has(metadata.name) : metadata.namespace === namespace && enableServiceLinks)
      chosen.set(metadata.name, service);
  }
  return new Map([...chosen.values()].flatMap(variablesOf));
}

function variablesOf({ metadata, spec }: Service): [string, string][] {
  const { clusterIP = '', ports = [] } = spec;
  const name = variableName(metadata.name);
  const first = ports[0];
  if (first === undefined) return [[`${name}_SERVICE_HOST`, clusterIP]];
  const named = ports
    .filter((port) => port.name)
    .map((port): [string, string] => [`${name}_SERVICE_PORT_${variableName(port.name ?? '')}`, String(port.port)]);
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  const links = ports.flatMap(({ port, protocol = 'TCP' }, index): [string, string][] => {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${host}:${port}`;
    const prefix = `${name}_PORT_${port}_${protocol.toUpperCase()}`;
    const own: [string, string][] = [
      [prefix, url],
      [`${prefix}_PROTO`, scheme],
      [`${prefix}_PORT`, String(port)],
      [`${prefix}_ADDR`, clusterIP],
    ];
    return index === 0 ? [[`${name}_PORT`, url], ...own] : own;
  });
  return [[`${name}_SERVICE_HOST`, clusterIP], [`${name}_SERVICE_PORT`, String(first.port)], ...named, ...links];
}

function variableName(text: string): string {
  return text.replaceAll('-', '_').toUpperCase();
}
