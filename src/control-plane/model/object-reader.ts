import type { ApiObject, ObjectKey, ResourceType } from '../../api/client/resource-type.ts';

/**
 * Reads the newest objects from the API server's cache, synchronously, for authorizers and admission. Objects are
 * immutable.
 */
export interface ObjectReader {
  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey): T | undefined;
  /** Lists objects. `namespace` '' means all. */
  list<T extends ApiObject>(type: ResourceType<T>, namespace: string): readonly T[];
  /**
   * Calls `listener` after each change: `before` is absent for a new object, `after` for a deleted one. Returns the
   * function that unsubscribes.
   */
  onChange<T extends ApiObject>(
    type: ResourceType<T>,
    listener: (before: T | undefined, after: T | undefined) => void,
  ): () => void;
}
