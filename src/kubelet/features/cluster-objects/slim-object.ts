import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { Service } from '../../../api/core/service.ts';

/**
 * Returns the part of a service from which environment variables are made. A cluster may have thousands of services,
 * and each node watches all of them.
 */
export function slimService({
  metadata: { name, namespace, uid, resourceVersion },
  spec: { clusterIP, ports },
}: Service): Service {
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec: {
      clusterIP,
      ports: ports?.map(({ name: port, protocol, port: number }) => ({ name: port, protocol, port: number })),
    },
  } as Service;
}

/** Returns a text that identifies this version of an object; '' for no object. */
export function versionOf(object: ApiObject | undefined): string {
  return object === undefined ? '' : `${object.metadata.uid ?? ''}/${object.metadata.resourceVersion ?? ''}`;
}
