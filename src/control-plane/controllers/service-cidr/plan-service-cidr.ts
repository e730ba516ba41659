import { containsPrefix, hasServiceAddress, overlapsPrefix, parseIpPrefix } from '../../../base/ip-prefix.ts';
import type { IpPrefix } from '../../../base/ip-prefix.ts';
import type { IPAddress } from '../../../api/networking/ip-address.ts';
import { isServiceAddress } from '../../../api/networking/service-address.ts';
import { SERVICE_CIDR_FINALIZER } from '../../../api/networking/service-cidr.ts';
import type { ServiceCIDR } from '../../../api/networking/service-cidr.ts';
import { parseTime } from '../../../api/time.ts';

/** The time after a deletion during which allocators may still use addresses of the range. */
const DELETION_GRACE_MS = 10_000;

export type ServiceCidrPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'hold' }
  | { readonly kind: 'ready' }
  /** The range contains service addresses that no other range covers. */
  | { readonly kind: 'blocked' }
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'release' };

export const prefixesOf = ({ spec }: ServiceCIDR): readonly IpPrefix[] =>
  (spec.cidrs ?? []).flatMap((cidr) => parseIpPrefix(cidr) ?? []);

/** Plans the next step for a range (upstream: servicecidrs_controller sync). */
export function planServiceCidr(
  cidr: ServiceCIDR,
  others: readonly ServiceCIDR[],
  addresses: readonly IPAddress[],
  nowMs: number,
): ServiceCidrPlan {
  const { deletionTimestamp, finalizers = [] } = cidr.metadata;
  const isHeld = finalizers.includes(SERVICE_CIDR_FINALIZER);
  const ready = cidr.status?.conditions?.find(({ type }) => type === 'Ready');
  if (deletionTimestamp === undefined) {
    if (!isHeld) return { kind: 'hold' };
    return ready?.status === 'True' ? { kind: 'nothing' } : { kind: 'ready' };
  }
  if (!isHeld) return { kind: 'nothing' };
  if (!mayGo(cidr, others, addresses))
    return ready?.reason === 'Terminating' ? { kind: 'nothing' } : { kind: 'blocked' };
  const forMs = (parseTime(deletionTimestamp) ?? nowMs) + DELETION_GRACE_MS - nowMs;
  return forMs > 0 ? { kind: 'wait', forMs } : { kind: 'release' };
}

/**
 * Whether another range covers every used service address in the range (upstream: canDeleteCIDR). A terminating range
 * does not count: otherwise each of two could be deleted because of the other, which upstream allows.
 */
function mayGo(cidr: ServiceCIDR, others: readonly ServiceCIDR[], addresses: readonly IPAddress[]): boolean {
  const own = prefixesOf(cidr);
  const rest = others.filter(({ metadata }) => metadata.deletionTimestamp === undefined).flatMap(prefixesOf);
  if (own.every((prefix) => rest.some((other) => containsPrefix(other, prefix)))) return true;
  return !addresses.some(
    (address) =>
      isServiceAddress(address) &&
      own.some((prefix) => hasServiceAddress(prefix, address.metadata.name)) &&
      !rest.some((prefix) => hasServiceAddress(prefix, address.metadata.name)),
  );
}

/** Whether a change of one range can affect the other. */
export function overlaps(left: ServiceCIDR, right: ServiceCIDR): boolean {
  const others = prefixesOf(right);
  return prefixesOf(left).some((prefix) => others.some((other) => overlapsPrefix(prefix, other)));
}
