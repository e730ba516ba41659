import type { Service } from '../../../api/core/service.ts';
import type { Endpoint, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import type { RulesFacts } from '../rules-facts.ts';

export const facts: RulesFacts = {
  chainPrefix: 'KTS-0123abcd',
  podCidr: '10.84.0.0/22',
  serviceCidr: '10.96.0.0/16',
  bridgeNetfilter: true,
};

export function service(name: string, spec: Partial<Service['spec']> = {}): Service {
  return {
    metadata: { name, namespace: 'default', uid: name },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.20',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }],
      ...spec,
    },
  };
}

/** An `ip`, or an `ip` with properties. */
export function slice(
  serviceName: string,
  endpoints: readonly (string | Partial<Endpoint>)[],
  ports: EndpointSlice['ports'] = [{ name: '', port: 8080, protocol: 'TCP' }],
): EndpointSlice {
  return {
    metadata: {
      name: `${serviceName}-1`,
      namespace: 'default',
      uid: `${serviceName}-1`,
      labels: { 'kubernetes.io/service-name': serviceName },
    },
    addressType: 'IPv4',
    endpoints: endpoints.map((each) =>
      typeof each === 'string'
        ? { addresses: [each], conditions: { ready: true }, nodeName: 'node' }
        : { addresses: ['10.84.0.9'], ...each },
    ),
    ports,
  };
}

/** Returns the destinations of the rules, each once and sorted. */
export const targets = (rules: readonly string[]): string[] =>
  [...new Set(rules.flatMap((rule) => /--to-destination (\S+)/.exec(rule)?.[1] ?? []))].sort();
