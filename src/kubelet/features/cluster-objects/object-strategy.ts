import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';

/** The result without a request: the object, the fact that it does not exist, or unknown. */
export type Known<T> = { readonly known: true; readonly object: T | undefined } | { readonly known: false };

/**
 * How objects of one kind are followed for the pods that use them (`configMapAndSecretChangeDetectionStrategy`). Users
 * are UIDs of pods. `follows` means that a user mounts the object as files.
 */
export interface ObjectStrategy<T extends ApiObject> {
  use(key: ObjectKey, user: string, follows: boolean): void;
  /** Removes a user, and drops the object with its last user. Returns whether this was the last one. */
  release(key: ObjectKey, user: string): boolean;
  /**
   * Returns the object, or undefined if it does not exist. Rejects with Unavailable while that is unknown. An object
   * that no pod uses is read once and not followed.
   */
  get(key: ObjectKey): Promise<T | undefined>;
  peek(key: ObjectKey): Known<T>;
  start(): void;
  stop(): Promise<void>;
}

/** Receives the answers of the API server. `undefined` means that the object does not exist. */
export interface StrategySink<T> {
  /** Called at each change of an object in use, with the state at the API server. */
  seen(key: ObjectKey, object: T | undefined): void;
  /** Called when earlier readers received another state. */
  changed(key: ObjectKey): void;
  /** Returns the object of an earlier run, which is used while there is no answer. */
  kept(key: ObjectKey): T | undefined;
}
