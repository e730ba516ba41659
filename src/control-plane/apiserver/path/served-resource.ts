import type { ResourceDefinition } from '../../model/resource-definition.ts';

/** What a subresource is, for the verbs and for discovery. */
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

/** A definition with all that requests ask about it, computed once. */
export interface ServedResource {
  readonly definition: ResourceDefinition;
  /** In alphabetical order, as discovery shows them. */
  readonly verbs: readonly string[];
  readonly subresources: ReadonlyMap<string, ServedSubresource>;
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

/** Finds what a path names: group, version and plural. */
export class ServedResources {
  readonly all: readonly ServedResource[];
  readonly #byPath = new Map<string, ServedResource>();
  readonly #groupVersions = new Set<string>();

  constructor(definitions: readonly ResourceDefinition[]) {
    this.all = definitions.map(serve);
    for (const resource of this.all) {
      const { group, version, plural } = resource.definition.type;
      this.#byPath.set(`${group}/${version}/${plural}`, resource);
      this.#groupVersions.add(`${group}/${version}`);
    }
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.#groupVersions.has(`${group}/${version}`);
  }
}

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
  return { definition, verbs, subresources };
}
