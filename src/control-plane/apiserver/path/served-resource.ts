import type { Definitions } from '../../model/definitions.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';

/** The kind of a subresource, for the verbs and for discovery. */
export type ServedSubresource =
  | {
      readonly kind: 'object';
      readonly name: string;
      readonly verbs: readonly string[];
      readonly responseKind: ResponseKind;
    }
  | {
      readonly kind: 'action';
      readonly name: string;
      readonly verbs: readonly string[];
      readonly responseKind: ResponseKind;
    }
  | {
      readonly kind: 'connect';
      readonly name: string;
      readonly verbs: readonly string[];
      readonly responseKind: ResponseKind;
    };

export interface ResponseKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A definition with derived values that requests need, computed once. */
export interface ServedResource {
  readonly definition: ResourceDefinition;
  /** The verbs in alphabetical order. */
  readonly verbs: readonly string[];
  /** The verbs that discovery shows. */
  readonly announcedVerbs: readonly string[];
  readonly subresources: ReadonlyMap<string, ServedSubresource>;
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

/** Finds resources by group, version and plural. Follows changes of the registered kinds. */
export class ServedResources {
  readonly #byPath = new Map<string, ServedResource>();
  /** The number of resources of each group version. */
  readonly #groupVersions = new Map<string, number>();
  #generation = 0;

  constructor(definitions: Definitions) {
    for (const definition of definitions.all) this.#add(definition);
    definitions.onChange(({ removed, added }) => {
      this.#generation++;
      for (const definition of removed) this.#remove(definition);
      for (const definition of added) this.#add(definition);
    });
  }

  /** Changes whenever the resources change; derived data must then be rebuilt. */
  get generation(): number {
    return this.#generation;
  }

  get all(): readonly ServedResource[] {
    return [...this.#byPath.values()];
  }

  #add(definition: ResourceDefinition): void {
    if (definition.isInternal === true) return;
    const path = pathOf(definition);
    if (!this.#byPath.has(path)) this.#count(definition, 1);
    this.#byPath.set(path, serve(definition));
  }

  #remove(definition: ResourceDefinition): void {
    const path = pathOf(definition);
    if (this.#byPath.get(path)?.definition !== definition) return;
    this.#byPath.delete(path);
    this.#count(definition, -1);
  }

  #count({ type: { group, version } }: ResourceDefinition, difference: 1 | -1): void {
    const name = `${group}/${version}`;
    const count = (this.#groupVersions.get(name) ?? 0) + difference;
    if (count > 0) this.#groupVersions.set(name, count);
    else this.#groupVersions.delete(name);
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.#groupVersions.has(`${group}/${version}`);
  }
}

const pathOf = ({ type: { group, version, plural } }: ResourceDefinition): string => `${group}/${version}/${plural}`;

function serve(definition: ResourceDefinition): ServedResource {
  const verbs = [...(definition.verbs ?? (definition.review === undefined ? allVerbs : ['create' as const]))].sort();
  const { group, version, kind } = definition.type;
  const own: ResponseKind = { group, version, kind };
  const subresources = new Map<string, ServedSubresource>();
  const add = (each: ServedSubresource): void => void subresources.set(each.name, each);
  if (definition.hasStatus === true)
    add({ kind: 'object', name: 'status', verbs: ['get', 'patch', 'update'], responseKind: own });
  for (const view of definition.views ?? [])
    add({ kind: 'object', name: view.name, verbs: [...view.verbs].sort(), responseKind: view.kind ?? own });
  for (const action of definition.actions ?? [])
    add({ kind: 'action', name: action.name, verbs: ['create'], responseKind: action.kind });
  for (const connect of definition.connects ?? [])
    add({
      kind: 'connect',
      name: connect.name,
      verbs: [...connect.verbs].sort(),
      responseKind: { group, version, kind: connect.kind },
    });
  return { definition, verbs, announcedVerbs: definition.announcedVerbs ?? verbs, subresources };
}
