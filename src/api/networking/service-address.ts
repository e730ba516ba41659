import { formatIp, parseSloppyIp } from '../../base/ip-address.ts';
import type { IPAddress } from './ip-address.ts';
import type { ServiceCIDR } from './service-cidr.ts';

/** Labels of the IPAddresses for cluster IPs of services. */
const addressLabels = {
  family: 'ipaddress.kubernetes.io/ip-family',
  managedBy: 'ipaddress.kubernetes.io/managed-by',
} as const;
const ADDRESS_MANAGER = 'ipallocator.k8s.io';

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** The IPAddress that reserves a cluster IP for a service. Its name is the address in canonical form. */
export function newServiceAddress(text: string, { namespace, name }: ServiceName): IPAddress {
  const bytes = parseSloppyIp(text);
  const ip = bytes === undefined ? text : formatIp(bytes);
  const labels = {
    [addressLabels.family]: ip.includes(':') ? 'IPv6' : 'IPv4',
    [addressLabels.managedBy]: ADDRESS_MANAGER,
  };
  return {
    metadata: { name: ip, namespace: '', uid: '', labels },
    spec: { parentRef: { resource: 'services', namespace, name } },
  };
}

export const isServiceAddress = ({ metadata: { labels = {} } }: IPAddress): boolean =>
  labels[addressLabels.managedBy] === ADDRESS_MANAGER;

export function belongsTo({ spec: { parentRef } }: IPAddress, service: ServiceName): boolean {
  return (
    (parentRef?.group ?? '') === '' &&
    parentRef?.resource === 'services' &&
    parentRef.namespace === service.namespace &&
    parentRef.name === service.name
  );
}

/** Whether services may get addresses from this range. */
export function isReadyRange({ metadata, status }: ServiceCIDR): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True')
  );
}
