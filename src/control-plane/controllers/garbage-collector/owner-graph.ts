import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';

/** An object with its kind. */
export interface GraphNode {
  readonly type: ResourceType;
  readonly object: ApiObject;
}

interface Watched {
  /** Whether this server keeps its objects. */
  readonly where: 'here' | 'elsewhere';
  readonly informer: Informer<ApiObject>;
  readonly byOwner: ObjectIndex<ApiObject>;
  readonly byOwnerKind: ObjectIndex<ApiObject>;
}

/**
 * The ownership graph over all kinds. It reads the informers' indexes, so it needs no updates of its own. Kinds may be
 * added and removed.
 */
export class OwnerGraph {
  readonly #kinds = new Map<string, Watched>();

  add(informer: Informer<ApiObject>, where: Watched['where'] = 'here'): void {
    const references = ({ metadata }: ApiObject): NonNullable<ApiObject['metadata']['ownerReferences']> =>
      metadata.ownerReferences ?? [];
    this.#kinds.set(nameOf(informer.type), {
      where,
      informer,
      byOwner: informer.index('owners', (object) => references(object).map(({ uid }) => uid)),
      byOwnerKind: informer.index('owner kinds', (object) =>
        references(object).map(({ apiVersion, kind }) => `${groupOf(apiVersion)}/${kind}`),
      ),
    });
  }

  remove(type: ResourceType): void {
    this.#kinds.delete(nameOf(type));
  }

  has(type: Pick<ResourceType, 'group' | 'plural'>): boolean {
    return this.#kinds.has(nameOf(type));
  }

  /** Whether all informers of this server have synced. Until then, an object may have unknown dependents. */
  hasSynced(): boolean {
    return [...this.#kinds.values()].every(({ where, informer }) => where === 'elsewhere' || informer.hasSynced());
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return this.#nodes(({ byOwner }) => byOwner.get(uid));
  }

  /** Returns objects with an owner reference to this kind, whether or not the owner exists. */
  dependentsOfKind({ group, kind }: ResourceType): readonly GraphNode[] {
    const owner = `${group}/${kind}`;
    return this.#nodes(({ byOwnerKind }) => byOwnerKind.get(owner));
  }

  #nodes(find: (kind: Watched) => readonly ApiObject[]): readonly GraphNode[] {
    const nodes: GraphNode[] = [];
    for (const kind of this.#kinds.values())
      for (const object of find(kind)) nodes.push({ type: kind.informer.type, object });
    return nodes;
  }

  hasDependents(uid: string): boolean {
    for (const { byOwner } of this.#kinds.values()) if (byOwner.count(uid) > 0) return true;
    return false;
  }

  /** Whether an object of this kind with this uid is known in another namespace. */
  isElsewhere({ plural, group }: ResourceType, uid: string, namespace: string): boolean {
    const informer = this.#kinds.get(nameOf({ group, plural }))?.informer;
    // Created at the first question, because most kinds own nothing.
    const byUid = informer?.index('uids', (object) => [object.metadata.uid]);
    return byUid?.get(uid).some((object) => object.metadata.namespace !== namespace) === true;
  }

  find(plural: string, group: string, key: ObjectKey): GraphNode | undefined {
    const informer = this.#kinds.get(nameOf({ group, plural }))?.informer;
    const object = informer?.get(key);
    return informer === undefined || object === undefined ? undefined : { type: informer.type, object };
  }

  /** Returns the watched kind of an owner reference, if any, independent of the version. */
  typeOf(apiVersion: string, kind: string): ResourceType | undefined {
    const group = groupOf(apiVersion);
    let found: ResourceType | undefined;
    for (const {
      informer: { type },
    } of this.#kinds.values()) {
      if (type.group !== group || type.kind !== kind) continue;
      if (apiVersionOf(type) === apiVersion) return type;
      found ??= type;
    }
    return found;
  }
}

const nameOf = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string => `${group}/${plural}`;

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
