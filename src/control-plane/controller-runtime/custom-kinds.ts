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
  /** The custom kind with the group and plural name of `type`, in whichever version. */
  find(type: Pick<ResourceType, 'group' | 'plural'>): CustomKind | undefined;
  /** Calls the listener with the kinds that were added, changed or removed; returns the function that unsubscribes. */
  onChange(listener: (changed: readonly ResourceType[]) => void): () => void;
}
