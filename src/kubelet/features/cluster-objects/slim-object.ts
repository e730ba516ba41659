import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { Service } from '../../../api/core/service.ts';

/**
 * The part of a service that the environment of containers needs: a cluster may have thousands of services, and a node
 * watches all of them.
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

/** Identifies this version of an object; '' stands for none. */
export function versionOf(object: ApiObject | undefined): string {
  return object === undefined ? '' : `${object.metadata.uid ?? ''}/${object.metadata.resourceVersion ?? ''}`;
}
