import type { ResourceType } from '../../api/client/resource-type.ts';

/** A custom kind as controllers see it that work on any kind. */
export interface CustomKind {
  /** Its objects as they are kept, of whichever version: for all that only looks at metadata. */
  readonly type: ResourceType;
  /** In which version its objects can be patched; undefined while none is served. */
  readonly served: ResourceType | undefined;
}

/** The custom kinds there are. They come and go while the controllers run. */
export interface CustomKinds {
  list(): readonly CustomKind[];
  /** Called after any change; returns what ends it. */
  onChange(listener: () => void): () => void;
}
