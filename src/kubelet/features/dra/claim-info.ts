import type { PreparedDevice } from '../../ports/dra-drivers.ts';

/** A claim that pods of this node use, with the devices that drivers have prepared for it. */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUids: ReadonlySet<string>;
  /** Every driver that has devices in the claim, by name. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
}

/** An entry of `resources.claims` of a container. */
export interface ClaimUse {
  readonly name: string;
  readonly request: string | undefined;
  readonly devices: readonly ClaimDevice[];
}

export interface ClaimDevice extends PreparedDevice {
  readonly driver: string;
}

/**
 * Returns the prepared devices for one request of the claim or, without `request`, all. A device that names no request
 * is for all requests. Drivers name requests without the alternative that was chosen (upstream: resourceclaim
 * BaseRequestRef).
 */
export function devicesOf({ drivers }: ClaimInfo, request: string | undefined): ClaimDevice[] {
  const [base = ''] = (request ?? '').split('/');
  return [...drivers].flatMap(([driver, devices]) =>
    devices
      .filter(
        ({ requestNames }) =>
          request === undefined ||
          requestNames.length === 0 ||
          requestNames.includes(request) ||
          requestNames.includes(base),
      )
      .map((device) => ({ ...device, driver })),
  );
}

/** Returns the CDI ids of the devices for one request of the claim or, without `request`, of all devices. */
export function cdiIdsOf(claim: ClaimInfo, request: string | undefined): string[] {
  return devicesOf(claim, request).flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
}
