import { services } from '../../api/client/resource-types.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { Service } from '../../api/core/service.ts';
import type { Controller, ControllerOptions } from '../../control-plane/controller-runtime/controller.ts';
import { createEventRecorder } from '../../control-plane/controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../control-plane/controller-runtime/rate-limiting-queue.ts';
import { restOfSet } from '../../control-plane/controller-runtime/rest-of-set.ts';
import { runController } from '../../control-plane/controller-runtime/run-controller.ts';
import { sameTexts } from '../../api/service-families.ts';
import { familyOf } from './ip-family.ts';
import { assignNodeAddress, wantsNodeAddress } from './node-load-balancer.ts';
import type { Assignments, NodeLoadBalancer, PortConflict } from './node-load-balancer.ts';

export interface LoadBalancerOptions extends ControllerOptions {
  readonly balancer: NodeLoadBalancer;
}

/** The only key, because each pass handles all services: the owner of a port depends on the other services. */
const ALL = 'all';

/**
 * Writes the node's address into the status of services of the type LoadBalancer, so that `kubectl get services` shows
 * it (upstream: cloud-provider controllers/service). The service router writes the rules.
 */
export function createLoadBalancerController(options: LoadBalancerOptions): Controller {
  const { informers, client, clock, log, balancer } = options;
  const informer = informers.for(services);
  const recorder = createEventRecorder({ ...options, component: 'service-controller' });
  const reported = new Map<string, string>();
  const isOwn = (ip: string | undefined): boolean => ip !== undefined && balancer.addresses.includes(ip);

  const write = async (service: Service, conflict: PortConflict | undefined, isAssigned: boolean): Promise<void> => {
    const key = formatKey(keyOf(service));
    const text = conflict === undefined ? undefined : describeConflict(conflict, balancer.addresses);
    if (text !== undefined && reported.get(key) !== text)
      recorder.event(services, service, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message: text });
    if (text === undefined) reported.delete(key);
    else reported.set(key, text);
    const before = service.status?.loadBalancer?.ingress ?? [];
    const others = before.filter(({ ip }) => !isOwn(ip));
    const own = isAssigned ? addressesFor(service, balancer) : [];
    if (
      sameTexts(
        own,
        before.flatMap(({ ip }) => (ip !== undefined && isOwn(ip) ? [ip] : [])),
      )
    )
      return;
    const ingress = [...others, ...own.map((ip) => ({ ip, ipMode: 'VIP' as const }))];
    const loadBalancer = ingress.length > 0 ? { ingress } : {};
    await client.update(
      services,
      { ...service, status: { ...service.status, loadBalancer } },
      { subresource: 'status' },
    );
    if (own.length > 0)
      recorder.event(services, service, {
        type: 'Normal',
        reason: 'EnsuredLoadBalancer',
        message: 'Ensured load balancer',
      });
  };

  const sync = async (): Promise<void> => {
    const all = informer.list();
    const assignments: Assignments = assignNodeAddress(all, balancer);
    const failures: unknown[] = [];
    for (const service of all) {
      const key = formatKey(keyOf(service));
      const conflict = assignments.get(key);
      await write(service, conflict, assignments.has(key) && conflict === undefined).catch((error: unknown) =>
        failures.push(error),
      );
    }
    // A service whose status cannot be written does not delay the others.
    if (failures.length > 0) throw failures[0];
  };

  const queue = new RateLimitingQueue({
    name: 'load_balancer',
    clock,
    log,
    workers: 1,
    sync,
    restMs: () => restOfSet(informer.size),
  });
  const wake = (): void => queue.add(ALL);
  /** Whether the service claims ports of the node, or its status has the address. */
  const concerns = (service: Service): boolean =>
    wantsNodeAddress(service) ||
    (service.status?.loadBalancer?.ingress ?? []).some(({ ip }) => isOwn(ip)) ||
    reported.has(formatKey(keyOf(service)));
  const ends = [
    informer.addHandlers({
      onAdd: (service) => concerns(service) && wake(),
      onUpdate: (before, after) => (concerns(before) || concerns(after)) && wake(),
      onDelete: (service) => {
        if (concerns(service)) wake();
        reported.delete(formatKey(keyOf(service)));
      },
    }),
  ];
  return runController({ name: 'load balancer controller', log, queues: [queue], informers: [informer], ends });
}

/**
 * Returns the addresses in the order of the service's families. If the server did not set families, they are all used.
 */
function addressesFor({ spec }: Service, { addresses }: NodeLoadBalancer): readonly string[] {
  const { ipFamilies } = spec;
  if (ipFamilies === undefined || ipFamilies.length === 0) return addresses;
  return ipFamilies.flatMap((family) => addresses.filter((ip) => familyOf(ip) === family));
}

function describeConflict({ port, holder }: PortConflict, addresses: readonly string[]): string {
  const by = holder === undefined ? 'the node itself' : `service ${holder}`;
  return `Error syncing load balancer: port ${port.toUpperCase()} of ${addresses.join(' and ')} is taken by ${by}`;
}
