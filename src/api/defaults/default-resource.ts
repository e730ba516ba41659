import type { DeviceToleration } from '../resource/device-config.ts';
import type { DeviceClaim, DeviceSubRequest, ExactDeviceRequest, ResourceClaim } from '../resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../resource/resource-claim-template.ts';

/** Upstream: apis/resource/v1/defaults.go. */
export function defaultResourceClaim(claim: ResourceClaim): ResourceClaim {
  const allocation = claim.status?.allocation;
  const results = allocation?.devices.results;
  return {
    ...claim,
    spec: { ...claim.spec, devices: defaultDevices(claim.spec.devices) },
    ...(results !== undefined &&
      allocation !== undefined && {
        status: {
          ...claim.status,
          allocation: { ...allocation, devices: { ...allocation.devices, results: results.map(defaultTolerations) } },
        },
      }),
  };
}

export function defaultResourceClaimTemplate(template: ResourceClaimTemplate): ResourceClaimTemplate {
  const { spec } = template;
  return {
    ...template,
    spec: { ...spec, spec: { ...spec.spec, devices: defaultDevices(spec.spec.devices) } },
  };
}

function defaultDevices(devices: DeviceClaim): DeviceClaim {
  if (devices.requests === undefined) return devices;
  const requests = devices.requests.map((request) => ({
    ...request,
    ...(request.exactly !== undefined && { exactly: defaultNeed(request.exactly) }),
    ...(request.firstAvailable !== undefined && { firstAvailable: request.firstAvailable.map(defaultNeed) }),
  }));
  return { ...devices, requests };
}

function defaultNeed<T extends ExactDeviceRequest | DeviceSubRequest>(need: T): T {
  const allocationMode = need.allocationMode ? need.allocationMode : 'ExactCount';
  const count = allocationMode === 'ExactCount' && !need.count ? 1 : need.count;
  return defaultTolerations({ ...need, allocationMode, ...(count !== undefined && { count }) });
}

function defaultTolerations<T extends { tolerations?: DeviceToleration[] }>(part: T): T {
  if (part.tolerations === undefined) return part;
  const tolerations = part.tolerations.map((each) => ({ ...each, operator: each.operator || ('Equal' as const) }));
  return { ...part, tolerations };
}
