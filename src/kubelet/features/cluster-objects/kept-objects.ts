import type { ApiObject } from '../../../api/client/resource-type.ts';
import { versionOf } from './slim-object.ts';

/** The values on disk, one by one. */
export interface ObjectFolder {
  put(key: string, value: unknown): void;
  drop(key: string): void;
}

/**
 * The objects that pods of this node use, as the API server last returned them, for a node that starts while it is
 * unavailable.
 * 1. An answer of the API server takes precedence; the cached objects are used only without one.
 * 2. Memory holds only what an earlier run left and the API server has not answered for yet.
 * 3. An object is removed from disk when no pod uses it, or when it is gone from the API.
 */
export class KeptObjects {
  readonly #folder: ObjectFolder;
  readonly #left: Map<string, ApiObject>;
  /** Objects on disk, by version. */
  readonly #versions: Map<string, string>;

  constructor(folder: ObjectFolder, left: ReadonlyMap<string, ApiObject> = new Map()) {
    this.#folder = folder;
    this.#left = new Map(left);
    this.#versions = new Map([...left].map(([key, object]) => [key, versionOf(object)]));
  }

  /** Objects of an earlier run. */
  left<T extends ApiObject>(key: string): T | undefined {
    // The key includes the kind.
    return this.#left.get(key) as T | undefined;
  }

  /** Keys of an earlier run with this prefix. */
  leftBelow<T extends ApiObject>(prefix: string): readonly T[] {
    return [...this.#left].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object as T);
  }

  keep(key: string, object: ApiObject): void {
    // The object was used instead of an answer, and may be used again.
    if (this.#left.get(key) === object) return;
    this.#left.delete(key);
    const version = versionOf(object);
    if (this.#versions.get(key) === version) return;
    this.#versions.set(key, version);
    this.#folder.put(key, object);
  }

  drop(key: string): void {
    this.#left.delete(key);
    if (this.#versions.delete(key)) this.#folder.drop(key);
  }

  keys(): readonly string[] {
    return [...this.#versions.keys()];
  }
}

/** Whether a file of an earlier run holds such an object. */
export function isKeptObject(value: unknown): value is ApiObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string' &&
    'namespace' in metadata &&
    typeof metadata.namespace === 'string'
  );
}
