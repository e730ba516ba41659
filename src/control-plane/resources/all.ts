import type { ResourceDefinition } from '../model/resource-definition.ts';
import { appsResources } from './apps.ts';
import { batchResources } from './batch.ts';
import { admissionregistrationResources } from './admissionregistration.ts';
import { authenticationResources } from './authentication.ts';
import { authorizationResources } from './authorization.ts';
import { certificateResources } from './certificates.ts';
import { configResources } from './config.ts';
import { coordinationResources } from './coordination.ts';
import { discoveryResources } from './discovery.ts';
import { endpointsResources } from './endpoints.ts';
import { eventResources } from './events.ts';
import { nodeResources } from './nodes.ts';
import { podResources } from './pods/pods.ts';
import { policyResources } from './policy.ts';
import { rbacResources } from './rbac.ts';
import { runtimeClassResources } from './runtime-classes.ts';
import { schedulingResources } from './scheduling.ts';
import { serviceResources } from './services/services.ts';
import { storageResources } from './storage.ts';
import { tenancyResources } from './tenancy.ts';
import { volumeResources } from './volumes.ts';

/** Every kind the API server serves. */
export const allResources: readonly ResourceDefinition[] = [
  ...configResources,
  ...podResources,
  ...nodeResources,
  ...serviceResources,
  ...volumeResources,
  ...rbacResources,
  ...runtimeClassResources,
  ...storageResources,
  ...authenticationResources,
  ...authorizationResources,
  ...certificateResources,
  ...admissionregistrationResources,
  ...appsResources,
  ...batchResources,
  ...policyResources,
  ...discoveryResources,
  ...coordinationResources,
  ...schedulingResources,
  ...tenancyResources,
  ...endpointsResources,
  ...eventResources,
];
