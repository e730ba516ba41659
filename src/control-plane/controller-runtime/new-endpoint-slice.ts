import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { newControllerRef } from './controller-ref.ts';

interface SliceParts extends Pick<EndpointSlice, 'addressType'> {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports: readonly NonNullable<EndpointSlice['ports']>[number][];
  readonly endpoints: readonly EndpointSlice['endpoints'][number][];
}

/** A slice that belongs to a Service or to Endpoints; the server completes its name. */
export function newEndpointSlice<T extends ApiObject>(
  type: ResourceType<T>,
  owner: T,
  { labels, annotations, addressType, ports, endpoints }: SliceParts,
): EndpointSlice {
  const { name, namespace } = owner.metadata;
  return {
    metadata: {
      name: '',
      generateName: `${name}-`,
      namespace,
      uid: '',
      labels: { ...labels },
      ...(annotations !== undefined && { annotations: { ...annotations } }),
      ownerReferences: [newControllerRef(type, owner)],
    },
    addressType,
    endpoints: [...endpoints],
    ports: [...ports],
  };
}
