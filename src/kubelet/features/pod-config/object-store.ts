import type { KindedObject } from '../../../api/manifest/manifest-kinds.ts';
import { sameContent } from './canonical-json.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { ClusterKind, ClusterKinds, ClusterObjectChange, ClusterObjects } from '../../ports/cluster-objects.ts';

type Origin = ReadonlyMap<string, KindedObject>;

const keyOf = (kind: ClusterKind, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
const keyOfObject = ({ kind, object }: KindedObject): string => keyOf(kind, object.metadata.namespace, object.metadata.name);

function isOf<Kind extends ClusterKind>(entry: KindedObject, kind: Kind): entry is Extract<KindedObject, { kind: Kind }> {
  return entry.kind === kind;
}

/** The objects of a node without an API server, as its sources hold them. Objects are values: a changed one is a new object. */
export class ObjectStore implements ClusterObjects {
  readonly #origins = new Map<string, Origin>();
  readonly #listeners = new Set<(change: ClusterObjectChange) => void>();

  get<Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): ClusterKinds[Kind] | undefined {
    const key = keyOf(kind, namespace, name);
    for (const origin of this.#origins.values()) {
      const found = origin.get(key);
      if (found !== undefined && isOf(found, kind)) return found.object as ClusterKinds[Kind];
    }
    return undefined;
  }

  list<Kind extends ClusterKind>(kind: Kind, namespace: string): readonly ClusterKinds[Kind][] {
    const found = new Map<string, ClusterKinds[Kind]>();
    for (const origin of this.#origins.values()) {
      for (const [key, entry] of origin) {
        if (!isOf(entry, kind) || (namespace !== '' && entry.object.metadata.namespace !== namespace)) continue;
        if (!found.has(key)) found.set(key, entry.object as ClusterKinds[Kind]);
      }
    }
    return [...found.values()];
  }

  configMap(namespace: string, name: string): ConfigMap | undefined {
    return this.get('ConfigMap', namespace, name);
  }

  /** Its `stringData` is already merged into `data`, as the API server does it. */
  secret(namespace: string, name: string): Secret | undefined {
    return this.get('Secret', namespace, name);
  }

  /** Sets everything that `origin` (a source) holds; listeners hear of what differs, after all of it is in place. */
  replace(origin: string, objects: readonly KindedObject[]): void {
    const before: Origin = this.#origins.get(origin) ?? new Map();
    const next = new Map(objects.map((entry) => [keyOfObject(entry), entry]));
    this.#origins.set(origin, next);
    for (const change of changesOf(before, next)) for (const listener of this.#listeners) listener(change);
  }

  onChange(listener: (change: ClusterObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

function changesOf(before: Origin, next: Origin): ClusterObjectChange[] {
  const changes: ClusterObjectChange[] = [];
  for (const key of new Set([...before.keys(), ...next.keys()])) {
    const entry = next.get(key) ?? before.get(key);
    if (entry === undefined || sameContent(before.get(key)?.object, next.get(key)?.object)) continue;
    changes.push({ kind: entry.kind, namespace: entry.object.metadata.namespace, name: entry.object.metadata.name });
  }
  return changes;
}
