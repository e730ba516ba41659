import { apiVersionOf, formatKey } from '../../api/client/resource-type.ts';
import type { ObjectKey, ResourceType } from '../../api/client/resource-type.ts';
import type { DefinitionsChange, DefinitionsTarget } from '../model/definitions.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

export const REGISTRY_PREFIX = '/registry/';

/**
 * Looks up the definition of a kind, by request or by key of the store. Built-in kinds are always registered; `change`
 * adds and removes those of custom resources. Versions of a kind may share a place in the store: `storedAs` names the
 * one that owns it.
 */
export class DefinitionIndex implements DefinitionsTarget {
  readonly #all = new Set<ResourceDefinition>();
  readonly #listeners = new Set<(change: DefinitionsChange) => void>();
  readonly #byResource = new Map<string, ResourceDefinition>();
  readonly #byKind = new Map<string, ResourceDefinition>();
  readonly #byStoragePath = new Map<string, ResourceDefinition>();

  constructor(definitions: readonly ResourceDefinition[]) {
    for (const definition of definitions) this.#add(definition);
  }

  get all(): readonly ResourceDefinition[] {
    return [...this.#all];
  }

  onChange(listener: (change: DefinitionsChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  change(change: DefinitionsChange): void {
    if (change.removed.length === 0 && change.added.length === 0) return;
    for (const definition of change.removed) this.#remove(definition);
    for (const definition of change.added) this.#add(definition);
    for (const listener of this.#listeners) listener(change);
  }

  #add(definition: ResourceDefinition): void {
    this.#all.add(definition);
    this.#byResource.set(resourceName(definition.type), definition);
    this.#byKind.set(kindName(definition), definition);
    if (isStored(definition)) this.#byStoragePath.set(definition.storagePath, definition);
  }

  /** Removes a definition, unless another one has already replaced it. */
  #remove(definition: ResourceDefinition): void {
    this.#all.delete(definition);
    const forget = (map: Map<string, ResourceDefinition>, key: string): void => {
      if (map.get(key) === definition) map.delete(key);
    };
    forget(this.#byResource, resourceName(definition.type));
    forget(this.#byKind, kindName(definition));
    forget(this.#byStoragePath, definition.storagePath);
  }

  byType(type: Pick<ResourceType, 'group' | 'version' | 'plural'>): ResourceDefinition | undefined {
    return this.#byResource.get(resourceName(type));
  }

  /** Finds a definition by apiVersion and kind: `apps/v1`, `Deployment`. */
  byKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${apiVersion}/${kind}`);
  }

  /**
   * Finds the definition that owns a key of the store, and the object's key. Places have one part (`pods`) or two
   * (`services/specs`).
   */
  locate(storageKey: string): { definition: ResourceDefinition; objectKey: string } | undefined {
    const rest = storageKey.slice(REGISTRY_PREFIX.length);
    const first = rest.indexOf('/');
    if (first < 0) return undefined;
    const short = this.#byStoragePath.get(rest.slice(0, first));
    if (short !== undefined) return { definition: short, objectKey: rest.slice(first + 1) };
    const second = rest.indexOf('/', first + 1);
    const long = second < 0 ? undefined : this.#byStoragePath.get(rest.slice(0, second));
    return long === undefined ? undefined : { definition: long, objectKey: rest.slice(second + 1) };
  }

  /** Returns the definition in which the objects of this one are stored. */
  storedOf(definition: ResourceDefinition): ResourceDefinition {
    return definition.storedAs === undefined ? definition : (this.byType(definition.storedAs.stored) ?? definition);
  }
}

const resourceName = ({ group, version, plural }: Pick<ResourceType, 'group' | 'version' | 'plural'>): string =>
  `${plural}.${version}.${group}`;

const kindName = ({ type }: ResourceDefinition): string => `${apiVersionOf(type)}/${type.kind}`;

/**
 * Whether objects of the definition are stored. Reviews are not; other kinds are computed, or stored as objects of
 * another kind.
 */
export function isStored({ review, storedAs, storagePath }: ResourceDefinition): boolean {
  return review === undefined && storedAs === undefined && storagePath !== '';
}

export function storagePrefix(definition: ResourceDefinition): string {
  return `${REGISTRY_PREFIX}${definition.storagePath}/`;
}

export function storageKey(definition: ResourceDefinition, key: ObjectKey): string {
  return storagePrefix(definition) + formatKey(key);
}
