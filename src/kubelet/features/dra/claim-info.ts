import type { PreparedDevice } from '../../ports/dra-drivers.ts';

/** A claim that pods of this node use, and what drivers have prepared for it. */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUids: ReadonlySet<string>;
  /** Every driver with devices in the claim, by name. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
}

/**
 * CDI ids of the devices for one request of the claim; without `request`, of all devices. A device that names no request
 * is for all (upstream: claimInfo cdiDevicesAsList).
 */
export function cdiIdsOf({ drivers }: ClaimInfo, request: string | undefined): string[] {
  return [...drivers.values()]
    .flat()
    .filter(({ requestNames }) => request === undefined || requestNames.length === 0 || requestNames.includes(request))
    .flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
}
