import type { Service } from '../../api/core/service.ts';
import { isPort } from './select-backends.ts';

/** The value of `spec.loadBalancerClass` that selects this load balancer. A service without a class selects it, too. */
export const LOAD_BALANCER_CLASS = 'kubelet-ts/node';

export interface NodeLoadBalancer {
  /** The addresses of the node, one per family, that services of the type LoadBalancer get. */
  readonly addresses: readonly string[];
  /** Ports that the node itself serves on these addresses, such as `6443/tcp`. */
  readonly reserved: ReadonlySet<string>;
}

/** Why a service does not get the address: the port, and the service that uses it, or the node if there is none. */
export interface PortConflict {
  /** `80/tcp`. */
  readonly port: string;
  /** `namespace/name`. */
  readonly holder: string | undefined;
}

/** The conflicts by `namespace/name`; undefined means that the service has the node's address. */
export type Assignments = ReadonlyMap<string, PortConflict | undefined>;

/**
 * Decides which services of type LoadBalancer get the node's addresses. Each port of the address leads to one service:
 * the oldest that requests it, by name among equals. A service gets the address with all of its ports or not at all
 * (upstream has no rule for this; a service with only some of its ports would be hard to diagnose). The cost is linear
 * in the services.
 */
export function assignNodeAddress(services: readonly Service[], { reserved }: NodeLoadBalancer): Assignments {
  const holders = new Map<string, string>();
  const assignments = new Map<string, PortConflict | undefined>();
  for (const service of services.filter(wantsNodeAddress).sort(byAge)) {
    const key = keyOf(service);
    const ports = (service.spec.ports ?? [])
      .filter(({ port }) => isPort(port))
      .map(({ port, protocol = 'TCP' }) => `${port}/${protocol.toLowerCase()}`);
    const taken = ports.find((port) => reserved.has(port) || holders.has(port));
    assignments.set(key, taken === undefined ? undefined : { port: taken, holder: holders.get(taken) });
    if (taken === undefined) for (const port of ports) holders.set(port, key);
  }
  return assignments;
}

/** Whether the service has the type LoadBalancer and does not select another load balancer. */
export function wantsNodeAddress({ metadata, spec }: Service): boolean {
  const ofUs = spec.loadBalancerClass === undefined || spec.loadBalancerClass === LOAD_BALANCER_CLASS;
  return spec.type === 'LoadBalancer' && ofUs && metadata.deletionTimestamp === undefined;
}

const keyOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`;
const ageOf = ({ metadata }: Service): string =>
  `${metadata.creationTimestamp ?? ''} ${keyOf({ metadata } as Service)}`;
const byAge = (left: Service, right: Service): number => (ageOf(left) < ageOf(right) ? -1 : 1);
