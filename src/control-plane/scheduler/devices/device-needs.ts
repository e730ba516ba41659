import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { DeviceExpression } from '../../cel/device-selectors.ts';
import { compileDeviceExpression } from '../../cel/device-selectors.ts';
import type { DeviceSelector, DeviceTaint, DeviceToleration } from '../../../api/resource/device-config.ts';
import { toleratesDeviceTaint } from '../../../api/resource/device-tolerations.ts';
import type {
  CapacityRequirements,
  DeviceAllocationConfiguration,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
} from '../../../api/resource/resource-claim.ts';
import type { PoolDevice } from './device-pools.ts';

/** One way to satisfy a request. */
export interface DeviceNeed {
  /** The name of the request, or REQUEST/SUBREQUEST for an alternative. */
  readonly request: string;
  readonly className: string;
  /** The number of devices. Undefined means all matching devices. */
  readonly count: number | undefined;
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** The requested amounts of device capacities. */
  readonly capacity: CapacityRequirements | undefined;
  /** The selectors of the class and of the request. A device must match all of them. */
  readonly expressions: readonly DeviceExpression[];
}

/** The alternatives of one request, the preferred one first. */
export type RequestNeeds = readonly DeviceNeed[];

export type NeedsResult =
  | { readonly kind: 'needs'; readonly needs: readonly RequestNeeds[] }
  /** Why no node can satisfy the claim. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Resolves the device classes of a claim's requests. */
export function needsOfClaim(claim: ResourceClaim, classOf: (name: string) => DeviceClass | undefined): NeedsResult {
  const needs: RequestNeeds[] = [];
  for (const { name, exactly, firstAvailable = [] } of claim.spec.devices.requests ?? []) {
    const ways =
      exactly === undefined
        ? firstAvailable.map((way) => ({ way, request: `${name}/${way.name}` }))
        : [{ way: exactly, request: name }];
    const alternatives: DeviceNeed[] = [];
    for (const { way, request } of ways) {
      const deviceClass = classOf(way.deviceClassName);
      if (deviceClass === undefined)
        return { kind: 'refused', reason: `request ${request}: device class ${way.deviceClassName} does not exist` };
      const expressions = expressionsOf([...(deviceClass.spec.selectors ?? []), ...(way.selectors ?? [])]);
      if (typeof expressions === 'string') return { kind: 'refused', reason: `request ${request}: ${expressions}` };
      alternatives.push(needOf(request, way, expressions));
    }
    needs.push(alternatives);
  }
  return { kind: 'needs', needs };
}

/** Compiles the selectors. Returns a text if they cannot be used. */
function expressionsOf(selectors: readonly DeviceSelector[]): readonly DeviceExpression[] | string {
  const expressions: DeviceExpression[] = [];
  for (const [index, { cel }] of selectors.entries()) {
    const compiled = compileDeviceExpression(cel?.expression ?? '');
    if ('fault' in compiled) return `selector #${index}: ${compiled.fault}`;
    expressions.push(compiled);
  }
  return expressions;
}

/** A selector that failed for a device. The pod stays pending, and its condition shows the reason. */
export class SelectorFault extends Error {}

/** Whether all selectors match the device. Throws SelectorFault. */
export function isSelected({ expressions, request }: DeviceNeed, { device, driver, key }: PoolDevice): boolean {
  return expressions.every((expression, index) => {
    const result = expression.selects(device, driver);
    if (typeof result === 'string')
      throw new SelectorFault(`request ${request}: selector #${index}: CEL runtime error: ${result} (device ${key})`);
    return result;
  });
}

function needOf(
  request: string,
  way: ExactDeviceRequest | DeviceSubRequest,
  expressions: readonly DeviceExpression[],
): DeviceNeed {
  return {
    expressions,
    request,
    className: way.deviceClassName,
    count: way.allocationMode === 'All' ? undefined : Number(way.count ?? 1),
    adminAccess: 'adminAccess' in way && way.adminAccess === true,
    tolerations: way.tolerations ?? [],
    capacity: way.capacity,
  };
}

/** Whether the device has a taint that the request does not tolerate. */
export function isTaintedFor(
  taints: readonly DeviceTaint[] | undefined,
  tolerations: readonly DeviceToleration[],
): boolean {
  return (taints ?? []).some(
    (taint) => taint.effect !== 'None' && !tolerations.some((toleration) => toleratesDeviceTaint(toleration, taint)),
  );
}

/** Returns the configuration of the allocated devices: first from their classes, then from the claim. */
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
