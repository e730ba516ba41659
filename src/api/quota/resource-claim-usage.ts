import { addQuantity } from '../quantity.ts';
import type { Quantity } from '../quantity.ts';
import { EXTENDED_CLAIM_ANNOTATION } from '../resource/device-config.ts';
import type { DeviceSubRequest, ExactDeviceRequest, ResourceClaim } from '../resource/resource-claim.ts';
import { itemsOf, oneItem } from './amounts.ts';
import type { Amounts } from './amounts.ts';

const COUNT = 'count/resourceclaims.resource.k8s.io';
const BY_CLASS = '.deviceclass.resource.k8s.io/devices';
/** The extended resource for devices of a class that does not name one. */
const IMPLICIT = 'requests.deviceclass.resource.kubernetes.io/';
/** Upstream: AllocationResultsMaxSize, the largest number of devices in a claim. */
const MOST_DEVICES = 32;

export const isCountedOfResourceClaims = (name: string): boolean =>
  name === COUNT || name.endsWith(BY_CLASS) || name.startsWith(IMPLICIT);

/**
 * The devices that a claim uses for quotas, by class: the number that its requests ask for; of alternatives, the
 * largest (upstream: evaluator/core/resource_claims.go Usage). Claims that the scheduler creates for extended resources
 * of a pod count as that pod's resources.
 */
export function resourceClaimUsage({ metadata, spec }: ResourceClaim): Amounts {
  const devices = new Map<string, Quantity>();
  const add = (className: string, count: Quantity): void => {
    const known = devices.get(className);
    devices.set(className, known === undefined ? count : addQuantity(known, count));
  };
  for (const { exactly, firstAvailable = [] } of spec.devices.requests ?? []) {
    if (exactly !== undefined) add(exactly.deviceClassName, devicesOf(exactly));
    const largest = new Map<string, Quantity>();
    for (const way of firstAvailable) {
      const count = devicesOf(way);
      if (count.nanos > (largest.get(way.deviceClassName)?.nanos ?? 0n)) largest.set(way.deviceClassName, count);
    }
    for (const [className, count] of largest) add(className, count);
  }
  const isOfPod = metadata.annotations?.[EXTENDED_CLAIM_ANNOTATION] === 'true';
  return new Map([
    [COUNT, oneItem],
    ...[...devices].flatMap(([className, count]): [string, Quantity][] => [
      [`${className}${BY_CLASS}`, count],
      ...(isOfPod ? [] : [[`${IMPLICIT}${className}`, count] satisfies [string, Quantity]]),
    ]),
  ]);
}

function devicesOf({
  allocationMode,
  count = 1,
}: Pick<ExactDeviceRequest | DeviceSubRequest, 'allocationMode' | 'count'>): Quantity {
  return itemsOf(allocationMode === 'All' ? MOST_DEVICES : Number(count));
}
