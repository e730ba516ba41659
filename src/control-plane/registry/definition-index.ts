import { apiVersionOf, formatKey } from '../../api/client/resource-type.ts';
import type { ObjectKey, ResourceType } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

export const REGISTRY_PREFIX = '/registry/';

/**
 * The definitions, found by what requests and keys of the store say. Two versions of a kind may share a place in the
 * store; the first one listed owns it.
 */
export class DefinitionIndex {
  readonly all: readonly ResourceDefinition[];
  readonly #byResource = new Map<string, ResourceDefinition>();
  readonly #byKind = new Map<string, ResourceDefinition>();
  readonly #byStoragePath = new Map<string, ResourceDefinition>();

  constructor(definitions: readonly ResourceDefinition[]) {
    this.all = definitions;
    for (const definition of definitions) {
      const { kind } = definition.type;
      this.#byResource.set(resourceName(definition.type), definition);
      this.#byKind.set(`${apiVersionOf(definition.type)}/${kind}`, definition);
      if (isStored(definition)) this.#byStoragePath.set(definition.storagePath, definition);
    }
  }

  byType(type: Pick<ResourceType, 'group' | 'version' | 'plural'>): ResourceDefinition | undefined {
    return this.#byResource.get(resourceName(type));
  }

  /** By what stands in an object or an owner reference: `apps/v1`, `Deployment`. */
  byKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${apiVersion}/${kind}`);
  }

  /**
   * The definition that owns a key of the store, and which object it is. Places are one word long (`pods`) or two
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

  /** The definition whose objects are really stored for this one. */
  storedOf(definition: ResourceDefinition): ResourceDefinition {
    return definition.storedAs === undefined ? definition : (this.byType(definition.storedAs.stored) ?? definition);
  }
}

const resourceName = ({ group, version, plural }: Pick<ResourceType, 'group' | 'version' | 'plural'>): string =>
  `${plural}.${version}.${group}`;

/** Reviews are answered and forgotten; others are stored as objects of another kind. */
export function isStored(definition: ResourceDefinition): boolean {
  return definition.review === undefined && definition.storedAs === undefined;
}

export function storagePrefix(definition: ResourceDefinition): string {
  return `${REGISTRY_PREFIX}${definition.storagePath}/`;
}

export function storageKey(definition: ResourceDefinition, key: ObjectKey): string {
  return storagePrefix(definition) + formatKey(key);
}
