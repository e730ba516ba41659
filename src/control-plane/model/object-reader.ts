import type { ApiObject, ObjectKey, ResourceType } from '../../api/client/resource-type.ts';

/**
 * The newest objects as the API server's cache holds them: for authorizers and admission, which must not wait. Objects
 * are never changed in place.
 */
export interface ObjectReader {
  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey): T | undefined;
  /** `namespace` '' reads all. */
  list<T extends ApiObject>(type: ResourceType<T>, namespace: string): readonly T[];
  /**
   * Calls `listener` after each change: `before` is absent for a new object, `after` for a deleted one. Returns what
   * ends it.
   */
  onChange<T extends ApiObject>(
    type: ResourceType<T>,
    listener: (before: T | undefined, after: T | undefined) => void,
  ): () => void;
}
