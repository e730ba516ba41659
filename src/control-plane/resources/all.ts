import type { ResourceDefinition } from '../model/resource-definition.ts';

/** Every kind the API server serves. */
export const allResources: readonly ResourceDefinition[] = [];
