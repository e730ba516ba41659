import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Storage } from '../storage/storage.ts';
import type { KindCache, WatchCache } from './cache/watch-cache.ts';
import type { DefinitionIndex } from './definition-index.ts';

/** A store with its watch cache. */
export interface Home {
  readonly cache: WatchCache;
  readonly storage: Storage;
}

/** A store of some kinds only (`--etcd-servers-overrides`). */
export interface HomeOfKinds extends Home {
  readonly kinds: readonly ResourceDefinition[];
}

/**
 * Maps each kind to its store: the main store, except for kinds with a separate store. Resource versions of different
 * stores cannot be compared.
 */
export class Homes {
  readonly all: readonly Home[];
  readonly #main: Home;
  readonly #definitions: DefinitionIndex;
  readonly #byStored = new Map<ResourceDefinition, Home>();

  constructor(definitions: DefinitionIndex, main: Home, others: readonly HomeOfKinds[] = []) {
    this.#definitions = definitions;
    this.#main = main;
    this.all = [main, ...others];
    for (const other of others) for (const kind of other.kinds) this.#byStored.set(definitions.storedOf(kind), other);
  }

  of(definition: ResourceDefinition): Home {
    return this.#byStored.get(this.#definitions.storedOf(definition)) ?? this.#main;
  }

  /** Returns the cache of a kind, or undefined if the kind is not stored. */
  find(definition: ResourceDefinition): KindCache | undefined {
    return this.of(definition).cache.find(definition);
  }

  /** Resolves when everything written before the call is visible. */
  async fresh(): Promise<void> {
    await Promise.all(this.all.map(({ cache }) => cache.fresh()));
  }

  /** Returns the number of objects of each kind, for metrics. */
  counts(): ReadonlyMap<ResourceDefinition, number> {
    const counted = this.all.flatMap((home) =>
      [...home.cache.counts()].filter(([definition]) => this.of(definition) === home),
    );
    return new Map(counted);
  }

  stop(): void {
    for (const { cache } of this.all) cache.stop();
  }
}
