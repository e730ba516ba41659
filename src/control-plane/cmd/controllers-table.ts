import { allResources } from '../resources/all.ts';
import type { ResourceType } from '../../api/client/resource-type.ts';
import type { Controller, ControllerOptions } from '../controller-runtime/controller.ts';
import { createDeploymentController } from '../controllers/deployment/deployment-controller.ts';
import { createEndpointSliceController } from '../controllers/endpoint-slice/endpoint-slice-controller.ts';
import { createEndpointsController } from '../controllers/endpoints/endpoints-controller.ts';
import { createGarbageCollector } from '../controllers/garbage-collector/garbage-collector.ts';
import { createJobController } from '../controllers/job/job-controller.ts';
import { createNamespaceController } from '../controllers/namespace/namespace-controller.ts';
import { createDaemonSetController } from '../controllers/daemon-set/daemon-set-controller.ts';
import { createNodeLifecycleController, nodeLifecycleDefaults } from '../controllers/node-lifecycle/node-lifecycle-controller.ts';
import { createReplicaSetController } from '../controllers/replica-set/replica-set-controller.ts';
import { createRootCaPublisher } from '../controllers/root-ca/root-ca-publisher.ts';
import { createServiceAccountController } from '../controllers/service-account/service-account-controller.ts';

/** What controllers are made of, beside what all have. */
export interface ClusterControllerOptions extends ControllerOptions {
  /** PEM of the cluster's authority. */
  readonly rootCa: string;
}

/** A controller as `--controllers` names it. It acts as the service account of `kube-system` of its name, and may do what upstream lets that. */
export interface ControllerEntry {
  readonly name: string;
  readonly create: (options: ClusterControllerOptions) => Controller;
}

/** Kinds that are kept, and can be deleted; events go by time. */
const kept: readonly ResourceType[] = allResources.filter((each) => each.review === undefined && each.storedAs === undefined && each.ttlSeconds === undefined).map(({ type }) => type);
const namespacedContents: readonly ResourceType[] = allResources.filter((each) => each.review === undefined && each.storedAs === undefined && each.type.namespaced).map(({ type }) => type);

/** Every controller, in the order they are started. */
export const controllersTable: readonly ControllerEntry[] = [
  { name: 'service-account-controller', create: createServiceAccountController },
  { name: 'root-ca-cert-publisher', create: createRootCaPublisher },
  { name: 'namespace-controller', create: (options) => createNamespaceController({ ...options, types: namespacedContents }) },
  { name: 'replicaset-controller', create: createReplicaSetController },
  { name: 'deployment-controller', create: createDeploymentController },
  { name: 'daemon-set-controller', create: createDaemonSetController },
  { name: 'job-controller', create: createJobController },
  { name: 'endpointslice-controller', create: createEndpointSliceController },
  { name: 'endpoint-controller', create: createEndpointsController },
  { name: 'node-controller', create: (options) => createNodeLifecycleController({ ...options, ...nodeLifecycleDefaults }) },
  { name: 'generic-garbage-collector', create: (options) => createGarbageCollector({ ...options, types: kept }) },
];
