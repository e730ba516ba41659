import { hasServiceAddress } from '../../../base/ip-prefix.ts';
import { ipAddresses, serviceCidrs } from '../../../api/client/resource-types.ts';
import { withCondition } from '../../../api/conditions.ts';
import type { IPAddress } from '../../../api/networking/ip-address.ts';
import { isServiceAddress } from '../../../api/networking/service-address.ts';
import { SERVICE_CIDR_FINALIZER } from '../../../api/networking/service-cidr.ts';
import type { ServiceCIDR } from '../../../api/networking/service-cidr.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { overlaps, planServiceCidr, prefixesOf } from './plan-service-cidr.ts';

const conditions = {
  ready: { type: 'Ready', status: 'True' as const, reason: '', message: 'Kubernetes Service CIDR is ready' },
  blocked: {
    type: 'Ready',
    status: 'False' as const,
    reason: 'Terminating',
    message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
  },
};

/**
 * Marks ServiceCIDRs as ready, and removes the finalizer of a terminating one when no service uses an address that only
 * it covers.
 */
export function createServiceCidrController({ client, informers, clock, log }: ControllerOptions): Controller {
  const cidrs = informers.for(serviceCidrs);
  const addresses = informers.for(ipAddresses);
  const sync = async (name: string): Promise<number | undefined> => {
    const cidr = cidrs.get({ namespace: '', name });
    if (cidr === undefined) return undefined;
    const others = cidrs.list().filter(({ metadata }) => metadata.name !== name);
    // Only a terminating range is compared with all addresses.
    const known = cidr.metadata.deletionTimestamp === undefined ? [] : addresses.list();
    const plan = planServiceCidr(cidr, others, known, clock.nowMs());
    if (plan.kind === 'wait') return plan.forMs;
    try {
      if (plan.kind === 'hold')
        await setFinalizers(cidr, [...(cidr.metadata.finalizers ?? []), SERVICE_CIDR_FINALIZER]);
      if (plan.kind === 'release')
        await setFinalizers(
          cidr,
          (cidr.metadata.finalizers ?? []).filter((each) => each !== SERVICE_CIDR_FINALIZER),
        );
      if (plan.kind === 'ready' || plan.kind === 'blocked') await setCondition(cidr, conditions[plan.kind]);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  };
  const setFinalizers = (cidr: ServiceCIDR, finalizers: string[]): Promise<unknown> =>
    client.update(serviceCidrs, { ...cidr, metadata: { ...cidr.metadata, finalizers } });
  const setCondition = (cidr: ServiceCIDR, condition: (typeof conditions)['ready' | 'blocked']): Promise<unknown> => {
    const status = {
      ...cidr.status,
      conditions: withCondition(cidr.status?.conditions, stamped(condition), clock.nowMs()),
    };
    return client.update(serviceCidrs, { ...cidr, status }, { subresource: 'status' });
  };
  const queue = new RateLimitingQueue({ name: 'ipaddresses', clock, log, workers: 1, sync });
  const wake = ({ metadata }: ServiceCIDR): void => queue.add(metadata.name);
  /** Wakes terminating ranges, which wait for other ranges and for deleted addresses. */
  const wakeLeaving = (concerns: (cidr: ServiceCIDR) => boolean): void => {
    for (const cidr of cidrs.list()) if (cidr.metadata.deletionTimestamp !== undefined && concerns(cidr)) wake(cidr);
  };
  const wakeFor = (address: IPAddress): void => {
    if (!isServiceAddress(address)) return;
    wakeLeaving((cidr) => prefixesOf(cidr).some((prefix) => hasServiceAddress(prefix, address.metadata.name)));
  };
  const wakeAround = (cidr: ServiceCIDR): void => {
    wake(cidr);
    wakeLeaving((other) => overlaps(cidr, other));
  };
  const ends = [
    cidrs.addHandlers({ onAdd: wakeAround, onUpdate: (_, after) => wake(after), onDelete: wakeAround }),
    addresses.addHandlers({ onAdd: wakeFor, onDelete: wakeFor }),
  ];
  return runController({
    name: 'service CIDR controller',
    log,
    queues: [queue],
    informers: [cidrs, addresses],
    ends,
  });
}

/** Adds the transition time. */
const stamped = <C extends object>(condition: C): C & { lastTransitionTime: string } => ({
  ...condition,
  lastTransitionTime: '',
});
