import type { ResourceDefinition } from '../model/resource-definition.ts';
import { configResources } from './config.ts';
import { podResources } from './pods.ts';
import { rbacResources } from './rbac.ts';
import { runtimeClassResources } from './runtime-classes.ts';
import { storageResources } from './storage.ts';
import { volumeResources } from './volumes.ts';

/** Every kind the API server serves. */
export const allResources: readonly ResourceDefinition[] = [...configResources, ...podResources, ...volumeResources, ...rbacResources, ...runtimeClassResources, ...storageResources];
