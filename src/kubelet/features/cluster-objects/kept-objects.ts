import type { ApiObject } from '../../../api/client/resource-type.ts';
import { versionOf } from './slim-object.ts';

/** Where values lie on disk, one by one. */
export interface ObjectFolder {
  put(key: string, value: unknown): void;
  drop(key: string): void;
}

/**
 * The objects that pods of this node use, as the API server last had them, for a node that starts while it is away.
 * 1. What the API server says counts; what is kept is asked only while it says nothing.
 * 2. In memory is only what an earlier run left and the API server has not spoken about yet.
 * 3. An object goes from the disk when no pod uses it, or when it is gone from the API.
 */
export class KeptObjects {
  readonly #folder: ObjectFolder;
  readonly #left: Map<string, ApiObject>;
  /** What is on disk, by version. */
  readonly #versions: Map<string, string>;

  constructor(folder: ObjectFolder, left: ReadonlyMap<string, ApiObject> = new Map()) {
    this.#folder = folder;
    this.#left = new Map(left);
    this.#versions = new Map([...left].map(([key, object]) => [key, versionOf(object)]));
  }

  /** Of an earlier run. */
  left<T extends ApiObject>(key: string): T | undefined {
    // The key names the kind.
    return this.#left.get(key) as T | undefined;
  }

  /** Keys that begin like this, of an earlier run. */
  leftBelow<T extends ApiObject>(prefix: string): readonly T[] {
    return [...this.#left].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object as T);
  }

  keep(key: string, object: ApiObject): void {
    // It stood in for an answer, and may have to again.
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
