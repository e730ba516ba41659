import { services } from '../../api/client/resource-types.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { Service } from '../../api/core/service.ts';
import type { Controller, ControllerOptions } from '../../control-plane/controller-runtime/controller.ts';
import { createEventRecorder } from '../../control-plane/controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../control-plane/controller-runtime/rate-limiting-queue.ts';
import { restOfSet } from '../../control-plane/controller-runtime/rest-of-set.ts';
import { runController } from '../../control-plane/controller-runtime/run-controller.ts';
import { assignNodeAddress, wantsNodeAddress } from './node-load-balancer.ts';
import type { Assignments, NodeLoadBalancer, PortConflict } from './node-load-balancer.ts';

export interface LoadBalancerOptions extends ControllerOptions {
  readonly balancer: NodeLoadBalancer;
}

/** One pass over all services: which of them has a port depends on the others. */
const ALL = 'all';

/**
 * Writes the node's address into the status of services of the type LoadBalancer, which is when `kubectl get services`
 * shows it (upstream: cloud-provider controllers/service). The rules that lead to them are written by the router.
 */
export function createLoadBalancerController(options: LoadBalancerOptions): Controller {
  const { informers, client, clock, log, balancer } = options;
  const informer = informers.for(services);
  const recorder = createEventRecorder({ ...options, component: 'service-controller' });
  const reported = new Map<string, string>();

  const write = async (service: Service, conflict: PortConflict | undefined, isAssigned: boolean): Promise<void> => {
    const key = formatKey(keyOf(service));
    const text = conflict === undefined ? undefined : describeConflict(conflict, balancer.address);
    if (text !== undefined && reported.get(key) !== text)
      recorder.event(services, service, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message: text });
    if (text === undefined) reported.delete(key);
    else reported.set(key, text);
    const others = (service.status?.loadBalancer?.ingress ?? []).filter(({ ip }) => ip !== balancer.address);
    const had = others.length < (service.status?.loadBalancer?.ingress ?? []).length;
    if (had === isAssigned) return;
    const ingress = isAssigned ? [...others, { ip: balancer.address, ipMode: 'VIP' as const }] : others;
    const loadBalancer = ingress.length > 0 ? { ingress } : {};
    await client.update(
      services,
      { ...service, status: { ...service.status, loadBalancer } },
      { subresource: 'status' },
    );
    if (isAssigned)
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
  /** It takes ports, or has the address. */
  const concerns = (service: Service): boolean =>
    wantsNodeAddress(service) ||
    (service.status?.loadBalancer?.ingress ?? []).some(({ ip }) => ip === balancer.address) ||
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

function describeConflict({ port, holder }: PortConflict, address: string): string {
  const by = holder === undefined ? 'the node itself' : `service ${holder}`;
  return `Error syncing load balancer: port ${port.toUpperCase()} of ${address} is taken by ${by}`;
}
