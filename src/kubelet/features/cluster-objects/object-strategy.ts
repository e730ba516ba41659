import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';

/** What is known without asking anybody: the object, that there is none, or nothing. */
export type Known<T> = { readonly known: true; readonly object: T | undefined } | { readonly known: false };

/**
 * How objects of one kind are followed for the pods that use them (`configMapAndSecretChangeDetectionStrategy`).
 * Users are pods by uid; `follows` says that one of them shows it as files.
 */
export interface ObjectStrategy<T extends ApiObject> {
  use(key: ObjectKey, user: string, follows: boolean): void;
  /** Nothing of it is left when the last user is gone. Returns whether this was the last. */
  release(key: ObjectKey, user: string): boolean;
  /** undefined for what does not exist; rejects with Unavailable while that cannot be known. Of what no pod uses: asked for this once. */
  get(key: ObjectKey): Promise<T | undefined>;
  peek(key: ObjectKey): Known<T>;
  start(): void;
  stop(): Promise<void>;
}

/** Where a strategy tells what the API server said; `undefined`: there is no such object. */
export interface StrategySink<T> {
  /** Said of an object in use, whenever it is another one than before: this is what the API server has. */
  seen(key: ObjectKey, object: T | undefined): void;
  /** Who looked it up before has got something else. */
  changed(key: ObjectKey): void;
  /** What an earlier run knew, for when nobody answers. */
  kept(key: ObjectKey): T | undefined;
}
