import type { ResourceDefinition } from '../model/resource-definition.ts';
import { componentStatusResource } from './core/component-status.ts';
import { usageResources } from './metrics/usage-metrics.ts';

/** The kinds whose objects are computed for each answer and not stored. */
export const computedResources: readonly ResourceDefinition[] = [componentStatusResource, ...usageResources];
