import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';

/** The knowledge without a request: the object, its absence, or unknown. */
export type Known<T> = { readonly known: true; readonly object: T | undefined } | { readonly known: false };

/**
 * How objects of one kind are followed for the pods that use them (`configMapAndSecretChangeDetectionStrategy`). Users
 * are pods by uid; `follows` means that one of them shows it as files.
 */
export interface ObjectStrategy<T extends ApiObject> {
  use(key: ObjectKey, user: string, follows: boolean): void;
  /** Drops it with its last user. Returns whether this was the last. */
  release(key: ObjectKey, user: string): boolean;
  /**
   * undefined for an object that does not exist; rejects with Unavailable while that is unknown. An object that no pod
   * uses is read this once.
   */
  get(key: ObjectKey): Promise<T | undefined>;
  peek(key: ObjectKey): Known<T>;
  start(): void;
  stop(): Promise<void>;
}

/** Receives the answers of the API server; `undefined`: there is no such object. */
export interface StrategySink<T> {
  /** Called for an object in use, whenever it has changed: this is the state at the API server. */
  seen(key: ObjectKey, object: T | undefined): void;
  /** Earlier readers have received another state. */
  changed(key: ObjectKey): void;
  /** The state of an earlier run, used while there is no answer. */
  kept(key: ObjectKey): T | undefined;
}
