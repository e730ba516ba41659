import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

/**
 * A definition of one kind as one of any: the machinery hands each definition's functions only objects that were
 * decoded by the same definition's schema, which the compiler cannot know.
 */
export function defineResource<T extends ApiObject>(definition: ResourceDefinition<T>): ResourceDefinition {
  return definition as unknown as ResourceDefinition;
}
