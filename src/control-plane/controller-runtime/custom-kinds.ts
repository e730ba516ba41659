import type { ResourceType } from '../../api/client/resource-type.ts';

/** A custom kind, for controllers that work on any kind. */
export interface CustomKind {
  /** Its objects in the stored version, for controllers that only read metadata. */
  readonly type: ResourceType;
  /** The version for patches; undefined while none is served. */
  readonly served: ResourceType | undefined;
}

/** The current custom kinds, which may change while the controllers run. */
export interface CustomKinds {
  list(): readonly CustomKind[];
  /** Calls the listener after any change; returns the function that unsubscribes. */
  onChange(listener: () => void): () => void;
}
