import { isDeepStrictEqual } from 'node:util';
import { canonicalIp } from '../../../base/ip-address.ts';
import { endpointLabels } from '../../../api/annotations.ts';
import type { EndpointAddress, EndpointSubset, Endpoints } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';

export const MIRRORING_CONTROLLER = 'endpointslicemirroring-controller.k8s.io';
/** The maximum number of mirrored addresses per group of ports (upstream: --mirroring-max-endpoints-per-subset). */
const MAX_ENDPOINTS = 1000;
const SKIP_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
const notCopied = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]);

/** The content of a slice for a group of addresses. */
export interface Mirror {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface MirrorPlan {
  readonly create: readonly Mirror[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly mirror: Mirror }[];
  readonly delete: readonly EndpointSlice[];
}

/**
 * Whether Endpoints are mirrored: those of a user for a service without a selector (upstream: endpointslicemirroring
 * shouldMirror, syncEndpoints).
 */
export function isMirrored(endpoints: Endpoints | undefined, service: Service | undefined): endpoints is Endpoints {
  if (endpoints === undefined || endpoints.metadata.deletionTimestamp !== undefined) return false;
  if (endpoints.metadata.labels?.[SKIP_LABEL] === 'true') return false;
  if (endpoints.metadata.annotations?.[LEADER_ANNOTATION] !== undefined) return false;
  return service !== undefined && service.spec.selector === undefined;
}

/** Plans the changes after which the slices mirror the Endpoints, one slice per group of ports and family. */
export function planMirrors(existing: readonly EndpointSlice[], mirrors: readonly Mirror[]): MirrorPlan {
  const create: Mirror[] = [];
  const update: { slice: EndpointSlice; mirror: Mirror }[] = [];
  const left = new Set(existing);
  for (const mirror of mirrors) {
    const slice = existing.find((each) => left.has(each) && isAbout(each, mirror));
    if (slice === undefined) {
      create.push(mirror);
      continue;
    }
    left.delete(slice);
    if (!matchesMirror(slice, mirror)) update.push({ slice, mirror });
  }
  return { create, update, delete: [...left] };
}

const isAbout = (slice: EndpointSlice, { addressType, ports }: Mirror): boolean =>
  slice.addressType === addressType && isDeepStrictEqual(slice.ports, ports);

const matchesMirror = ({ metadata, endpoints }: EndpointSlice, mirror: Mirror): boolean =>
  semanticEqual(metadata.labels, mirror.labels) &&
  semanticEqual(metadata.annotations, mirror.annotations) &&
  semanticEqual(endpoints, mirror.endpoints);

/** Computes the desired slices. Invalid addresses are omitted; a group without addresses has no slice. */
export function computeMirrors({ metadata, subsets = [] }: Endpoints): Mirror[] {
  const labels = {
    ...metadata.labels,
    [endpointLabels.serviceName]: metadata.name,
    [endpointLabels.slicesManagedBy]: MIRRORING_CONTROLLER,
  };
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !notCopied.has(key)),
  );
  const groups = new Map<string, { readonly ports: EndpointPort[]; readonly found: Map<string, Endpoint> }>();
  for (const subset of subsets) {
    const ports = portsOf(subset);
    const key = JSON.stringify(ports);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { ports, found: new Map() }));
    for (const address of subset.addresses ?? []) add(group.found, address, true);
    for (const address of subset.notReadyAddresses ?? []) add(group.found, address, false);
  }
  return [...groups.values()].flatMap(({ ports, found }) => {
    const all = [...found.values()].slice(0, MAX_ENDPOINTS);
    return (['IPv4', 'IPv6'] as const).flatMap((addressType) => {
      const endpoints = all.filter(({ addresses: [ip = ''] }) => ip.includes(':') === (addressType === 'IPv6'));
      return endpoints.length === 0 ? [] : [{ labels, annotations, addressType, ports, endpoints }];
    });
  });
}

function portsOf({ ports = [] }: EndpointSubset): EndpointPort[] {
  return ports
    .map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
      name,
      protocol,
      port,
      ...(appProtocol !== undefined && { appProtocol }),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : one.port - other.port));
}

/** Adds an address. One that is listed as ready and as not ready counts as not ready (upstream: RepackSubsets). */
function add(found: Map<string, Endpoint>, address: EndpointAddress, ready: boolean): void {
  const ip = canonicalIp(address.ip);
  if (ip === undefined) return;
  const { hostname = '', nodeName, targetRef } = address;
  found.set(`${ip}/${targetRef?.uid ?? ''}`, {
    addresses: [ip],
    conditions: { ready },
    ...(hostname !== '' && { hostname }),
    ...(targetRef !== undefined && { targetRef }),
    ...(nodeName !== undefined && { nodeName }),
  });
}
