import { formatKey } from '../../../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import type { ObjectReader } from '../object-reader.ts';

type Listener = (before: ApiObject | undefined, after: ApiObject | undefined) => void;

/** The cache of authorizers and admission, which tests fill. Listeners are called at each change. */
export class FakeObjectReader implements ObjectReader {
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Adds or replaces an object. */
  put<T extends ApiObject>(type: ResourceType<T>, ...objects: readonly T[]): void {
    for (const object of objects) this.#change(type, formatKey(object.metadata), object);
  }

  remove(type: ResourceType, key: ObjectKey): void {
    this.#change(type, formatKey(key), undefined);
  }

  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey): T | undefined {
    return this.#of(type).get(formatKey(key)) as T | undefined;
  }

  list<T extends ApiObject>(type: ResourceType<T>, namespace: string): readonly T[] {
    return ([...this.#of(type).values()] as T[]).filter(
      (object) => namespace === '' || object.metadata.namespace === namespace,
    );
  }

  onChange<T extends ApiObject>(
    type: ResourceType<T>,
    listener: (before: T | undefined, after: T | undefined) => void,
  ): () => void {
    const known = this.#listeners.get(type.plural) ?? new Set();
    this.#listeners.set(type.plural, known);
    known.add(listener as Listener);
    return () => void known.delete(listener as Listener);
  }

  /** The number of listeners, to detect leaks. */
  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #of(type: ResourceType): Map<string, ApiObject> {
    const known = this.#objects.get(type.plural) ?? new Map<string, ApiObject>();
    this.#objects.set(type.plural, known);
    return known;
  }

  #change(type: ResourceType, key: string, after: ApiObject | undefined): void {
    const objects = this.#of(type);
    const before = objects.get(key);
    if (after === undefined) objects.delete(key);
    else objects.set(key, after);
    for (const listener of this.#listeners.get(type.plural) ?? []) listener(before, after);
  }
}
