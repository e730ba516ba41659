import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

/**
 * Converts the definition of one kind to one of any kind. The registry passes to each definition's functions only
 * objects that the same definition's schema decoded, which the compiler cannot know.
 */
export function defineResource<T extends ApiObject>(definition: ResourceDefinition<T>): ResourceDefinition {
  return definition as unknown as ResourceDefinition;
}
