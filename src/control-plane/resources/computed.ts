import type { ResourceDefinition } from '../model/resource-definition.ts';
import { componentStatusResource } from './core/component-status.ts';
import { usageResources } from './metrics/usage-metrics.ts';

/** Kinds of objects that are computed for each answer and not stored. */
export const computedResources: readonly ResourceDefinition[] = [componentStatusResource, ...usageResources];
