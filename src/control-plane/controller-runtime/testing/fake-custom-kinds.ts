import type { ResourceType } from '../../../api/client/resource-type.ts';
import type { CustomKind, CustomKinds } from '../custom-kinds.ts';

/** Custom kinds that a test sets. */
export class FakeCustomKinds implements CustomKinds {
  #kinds: readonly CustomKind[] = [];
  readonly #listeners = new Set<(changed: readonly ResourceType[]) => void>();

  list(): readonly CustomKind[] {
    return this.#kinds;
  }

  find({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): CustomKind | undefined {
    return this.#kinds.find(({ type }) => type.group === group && type.plural === plural);
  }

  onChange(listener: (changed: readonly ResourceType[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  set(kinds: readonly CustomKind[]): void {
    const changed = [...this.#kinds, ...kinds].map(({ type }) => type);
    this.#kinds = kinds;
    for (const listener of this.#listeners) listener(changed);
  }
}
