import type { ResourceDefinition } from '../model/resource-definition.ts';
import { podResources } from './pods.ts';

/** Every kind the API server serves. */
export const allResources: readonly ResourceDefinition[] = [...podResources];
