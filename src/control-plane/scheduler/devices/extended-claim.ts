import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerExtendedResourceRequest } from '../../../api/core/pod-status.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { EXTENDED_CLAIM_ANNOTATION } from '../../../api/resource/device-config.ts';
import type { DeviceRequest, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ExtendedResourceClasses } from './extended-resources.ts';

export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[];
  /** The mapping of requests to containers. */
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

interface Numbered {
  readonly container: Container;
  readonly index: number;
}

/** A request of one container, before reusable devices are subtracted. */
interface OwnRequest extends Numbered {
  readonly name: string;
  readonly count: number;
}

/**
 * Computes the device requests for the pod's extended resources with these names. A regular init container reuses the
 * devices of containers that start later. Only the largest shortage of all init containers is requested in addition
 * (upstream: createRequestsAndMappings).
 */
export function computeExtendedRequests(
  { spec }: Pod,
  resources: readonly string[],
  classes: ExtendedResourceClasses,
): ExtendedRequests {
  const inits = spec.initContainers ?? [];
  const all = [...inits, ...spec.containers].map((container, index) => ({ container, index }));
  const endsEarly = ({ container, index }: Numbered): boolean => index < inits.length && !isRestartableInit(container);
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const resource of [...resources].sort()) {
    const className = classes.classOf(resource)?.metadata.name;
    if (className === undefined) continue;
    const asked = all.flatMap((each) => requestOf(each, resource) ?? []);
    const lasting = asked.filter((each) => !endsEarly(each));
    const { extra, uses } = computeReuse(asked.filter(endsEarly), lasting);
    for (const { name, count } of extra === undefined ? lasting : [...lasting, extra])
      requests.push({ name, exactly: { deviceClassName: className, allocationMode: 'ExactCount', count } });
    for (const { container, name } of [...lasting, ...uses])
      mappings.push({ containerName: container.name, resourceName: resource, requestName: name });
  }
  return { requests: requests.sort((left, right) => (left.name < right.name ? -1 : 1)), mappings };
}

interface Reuse {
  /** The devices that only init containers need. */
  readonly extra: { readonly name: string; readonly count: number } | undefined;
  readonly uses: readonly { readonly container: Container; readonly name: string }[];
}

function computeReuse(passing: readonly OwnRequest[], lasting: readonly OwnRequest[]): Reuse {
  const uses: { container: Container; name: string; isExtra: boolean }[] = [];
  let extra: Reuse['extra'];
  for (const { container, index, name, count } of passing) {
    let missing = count;
    for (const later of lasting) {
      if (missing <= 0) break;
      if (later.index < index) continue;
      uses.push({ container, name: later.name, isExtra: false });
      missing -= later.count;
    }
    if (missing <= 0) continue;
    uses.push({ container, name, isExtra: true });
    if (extra === undefined || extra.count < missing) extra = { name, count: missing };
  }
  return {
    extra,
    uses: uses.map(({ container, name, isExtra }) => ({ container, name: isExtra ? (extra?.name ?? name) : name })),
  };
}

/** Names the request after the positions of the container and of the resource in it. */
function requestOf({ container, index }: Numbered, resource: string): OwnRequest | undefined {
  const requests = new Map(Object.entries(container.resources?.requests ?? {}));
  const amount = requests.get(resource);
  const count = amount === undefined ? 0 : quantityValue(amount);
  if (count <= 0) return undefined;
  const position = [...requests.keys()].sort().indexOf(resource);
  return { container, index, name: `container-${index}-request-${position}`, count };
}

/** Builds the claim that the scheduler creates for a pod. The API server completes its name. */
export function newExtendedClaim({ metadata }: Pod, requests: readonly DeviceRequest[]): ResourceClaim {
  const { name, namespace, uid } = metadata;
  return {
    metadata: {
      name: '',
      generateName: `${name}-extended-resources-`,
      namespace,
      uid: '',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
      annotations: { [EXTENDED_CLAIM_ANNOTATION]: 'true' },
    },
    spec: { devices: { requests: [...requests] } },
  };
}

/** Returns the pod for which the scheduler created the claim. */
export function extendedClaimOwner({ metadata }: ResourceClaim): string | undefined {
  if (metadata.annotations?.[EXTENDED_CLAIM_ANNOTATION] !== 'true') return undefined;
  return (metadata.ownerReferences ?? []).find(({ controller, kind }) => controller === true && kind === 'Pod')?.uid;
}
