import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Storage } from '../storage/storage.ts';
import type { KindCache, WatchCache } from './cache/watch-cache.ts';
import type { DefinitionIndex } from './definition-index.ts';

/** A store, and the cache that follows it. */
export interface Home {
  readonly cache: WatchCache;
  readonly storage: Storage;
}

/** A store of some kinds only (`--etcd-servers-overrides`). */
export interface HomeOfKinds extends Home {
  readonly kinds: readonly ResourceDefinition[];
}

/**
 * Where the objects of each kind are: in the main store, but for kinds that have another one. Versions are those of each
 * store, so they say nothing about objects of kinds that are elsewhere.
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

  /** Undefined for what is not stored. */
  find(definition: ResourceDefinition): KindCache | undefined {
    return this.of(definition).cache.find(definition);
  }

  /** Resolves when everything written before the call is visible. */
  async fresh(): Promise<void> {
    await Promise.all(this.all.map(({ cache }) => cache.fresh()));
  }

  /** How many objects there are of each kind, for metrics. */
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
