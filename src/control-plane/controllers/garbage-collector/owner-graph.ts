import type { Informer, Informers } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';

/** An object and what kind it is of. */
export interface GraphNode {
  readonly type: ResourceType;
  readonly object: ApiObject;
}

/**
 * Which object owns which, over all kinds that can own or be owned; made of the informers' own indexes, so there is
 * nothing to keep up to date.
 */
export class OwnerGraph {
  readonly #kinds: readonly { readonly informer: Informer<ApiObject>; readonly byOwner: ObjectIndex<ApiObject> }[];
  readonly #types = new Map<string, ResourceType>();
  readonly #informers = new Map<string, Informer<ApiObject>>();

  constructor(informers: Informers, types: readonly ResourceType[]) {
    this.#kinds = types.map((type) => {
      const informer = informers.for(type);
      return {
        informer,
        byOwner: informer.index('owners', (object) => (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)),
      };
    });
    for (const { informer } of this.#kinds)
      this.#informers.set(`${informer.type.group}/${informer.type.plural}`, informer);
    for (const type of types) this.#types.set(`${apiVersionOf(type)}/${type.kind}`, type);
  }

  get informers(): readonly Informer<ApiObject>[] {
    return this.#kinds.map(({ informer }) => informer);
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return this.#kinds.flatMap(({ informer, byOwner }) =>
      byOwner.get(uid).map((object) => ({ type: informer.type, object })),
    );
  }

  hasDependents(uid: string): boolean {
    return this.#kinds.some(({ byOwner }) => byOwner.count(uid) > 0);
  }

  find(plural: string, group: string, key: ObjectKey): GraphNode | undefined {
    const informer = this.#informers.get(`${group}/${plural}`);
    const object = informer?.get(key);
    return informer === undefined || object === undefined ? undefined : { type: informer.type, object };
  }

  /** The kind an owner reference names, if it is one of those watched. Versions of a group count as one. */
  typeOf(apiVersion: string, kind: string): ResourceType | undefined {
    const exact = this.#types.get(`${apiVersion}/${kind}`);
    if (exact !== undefined) return exact;
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    return [...this.#types.values()].find((type) => type.group === group && type.kind === kind);
  }
}
