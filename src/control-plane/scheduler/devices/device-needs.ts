import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { DeviceTaint, DeviceToleration } from '../../../api/resource/device-config.ts';
import { toleratesDeviceTaint } from '../../../api/resource/device-tolerations.ts';
import type {
  CapacityRequirements,
  DeviceAllocationConfiguration,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
} from '../../../api/resource/resource-claim.ts';

/** One way to satisfy a request. */
export interface DeviceNeed {
  /** REQUEST, or REQUEST/SUBREQUEST of an alternative. */
  readonly request: string;
  readonly className: string;
  /** Absent: all devices there are. */
  readonly count: number | undefined;
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** What it takes of the capacities of a device. */
  readonly capacity: CapacityRequirements | undefined;
}

/** A request with its alternatives, the preferred first. */
export type RequestNeeds = readonly DeviceNeed[];

export type NeedsResult =
  | { readonly kind: 'needs'; readonly needs: readonly RequestNeeds[] }
  /** Why no node can satisfy the claim. */
  | { readonly kind: 'refused'; readonly reason: string };

const SELECTORS_NOT_EVALUATED = 'selectors in CEL are not evaluated yet';

/** What a claim asks for, with its classes looked up. */
export function needsOfClaim(claim: ResourceClaim, classOf: (name: string) => DeviceClass | undefined): NeedsResult {
  const needs: RequestNeeds[] = [];
  for (const { name, exactly, firstAvailable = [] } of claim.spec.devices.requests ?? []) {
    const ways =
      exactly === undefined
        ? firstAvailable.map((way) => ({ way, request: `${name}/${way.name}` }))
        : [{ way: exactly, request: name }];
    for (const { way, request } of ways) {
      const deviceClass = classOf(way.deviceClassName);
      if (deviceClass === undefined)
        return { kind: 'refused', reason: `request ${request}: device class ${way.deviceClassName} does not exist` };
      if ((way.selectors ?? []).length > 0 || (deviceClass.spec.selectors ?? []).length > 0)
        return { kind: 'refused', reason: `request ${request}: ${SELECTORS_NOT_EVALUATED}` };
    }
    needs.push(ways.map(({ way, request }) => needOf(request, way)));
  }
  return { kind: 'needs', needs };
}

function needOf(request: string, way: ExactDeviceRequest | DeviceSubRequest): DeviceNeed {
  return {
    request,
    className: way.deviceClassName,
    count: way.allocationMode === 'All' ? undefined : Number(way.count ?? 1),
    adminAccess: 'adminAccess' in way && way.adminAccess === true,
    tolerations: way.tolerations ?? [],
    capacity: way.capacity,
  };
}

/** Whether claims keep away from the device because of a taint. */
export function isTaintedFor(
  taints: readonly DeviceTaint[] | undefined,
  tolerations: readonly DeviceToleration[],
): boolean {
  return (taints ?? []).some(
    (taint) => taint.effect !== 'None' && !tolerations.some((toleration) => toleratesDeviceTaint(toleration, taint)),
  );
}

/** What applies to the allocated devices: that of their classes, then that of the claim. */
export function configOfClaim(
  claim: ResourceClaim,
  chosen: readonly DeviceNeed[],
  classOf: (name: string) => DeviceClass | undefined,
): DeviceAllocationConfiguration[] {
  const fromClasses = chosen.flatMap(({ request, className }) =>
    (classOf(className)?.spec.config ?? []).map(
      (config): DeviceAllocationConfiguration => ({ ...config, source: 'FromClass', requests: [request] }),
    ),
  );
  const names = new Set(chosen.flatMap(({ request }) => [request, request.split('/')[0] ?? '']));
  const fromClaim = (claim.spec.devices.config ?? [])
    .filter(({ requests = [] }) => requests.length === 0 || requests.some((request) => names.has(request)))
    .map((config): DeviceAllocationConfiguration => ({ ...config, source: 'FromClaim' }));
  return [...fromClasses, ...fromClaim];
}
