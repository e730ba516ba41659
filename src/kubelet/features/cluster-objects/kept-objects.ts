import type { ApiObject } from '../../../api/client/resource-type.ts';
import { versionOf } from './slim-object.ts';

/** A folder that stores each value in its own file. */
export interface ObjectFolder {
  put(key: string, value: unknown): void;
  drop(key: string): void;
}

/**
 * The objects that pods of this node use, as the API server last returned them. A node that starts while the API server
 * is unavailable reads them. Invariants:
 * 1. An answer of the API server has precedence. A cached object is used only without an answer.
 * 2. Memory holds only objects of an earlier run for which the API server has not answered yet.
 * 3. An object is removed from disk when no pod uses it, or when it is deleted from the API.
 */
export class KeptObjects {
  readonly #folder: ObjectFolder;
  readonly #left: Map<string, ApiObject>;
  /** The versions of the objects on disk. */
  readonly #versions: Map<string, string>;

  constructor(folder: ObjectFolder, left: ReadonlyMap<string, ApiObject> = new Map()) {
    this.#folder = folder;
    this.#left = new Map(left);
    this.#versions = new Map([...left].map(([key, object]) => [key, versionOf(object)]));
  }

  /** Returns an object of an earlier run. */
  left<T extends ApiObject>(key: string): T | undefined {
    // The key includes the kind, so the type is known.
    return this.#left.get(key) as T | undefined;
  }

  /** Returns the objects of an earlier run whose keys have this prefix. */
  leftBelow<T extends ApiObject>(prefix: string): readonly T[] {
    return [...this.#left].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object as T);
  }

  keep(key: string, object: ApiObject): void {
    // This object was used for lack of an answer, and may be used again.
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

/** Whether the parsed content of a file is an API object. */
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
