import type { KindedObject } from '../../../api/manifest/manifest-kinds.ts';
import type { Logger } from '../../../base/log.ts';
import { sameContent } from '../../../base/same-content.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { ClusterKind, ClusterKinds, ClusterObjectChange, ClusterObjects } from '../../ports/cluster-objects.ts';

type Origin = ReadonlyMap<string, KindedObject>;

const keyOf = (kind: ClusterKind, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
const keyOfObject = ({ kind, object }: KindedObject): string =>
  keyOf(kind, object.metadata.namespace, object.metadata.name);

function isOf<Kind extends ClusterKind>(
  entry: KindedObject,
  kind: Kind,
): entry is Extract<KindedObject, { kind: Kind }> {
  return entry.kind === kind;
}

/** The objects of a standalone node, from its sources. Objects are immutable, so a changed one is a new object. */
export class ManifestObjects implements ClusterObjects {
  readonly #origins = new Map<string, Origin>();
  readonly #listeners = new Set<(change: ClusterObjectChange) => void>();
  readonly #log: Logger | undefined;

  constructor(log?: Logger) {
    this.#log = log;
  }

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

  /** Returns a Secret. Its `stringData` is already merged into `data`, as the API server does. */
  secret(namespace: string, name: string): Secret | undefined {
    return this.get('Secret', namespace, name);
  }

  /**
   * Sets all objects of `origin` (a source). Listeners are notified of the differences after all objects are stored.
   */
  replace(origin: string, objects: readonly KindedObject[]): void {
    const before: Origin = this.#origins.get(origin) ?? new Map();
    const next = new Map(objects.map((entry) => [keyOfObject(entry), entry]));
    this.#origins.set(origin, next);
    this.#warnOfImmutable(before, next);
    for (const change of changesOf(before, next)) for (const listener of this.#listeners) listener(change);
  }

  /**
   * Warns of a change that an API server would reject. A folder cannot reject it: running pods keep the old object, and
   * pods that start from now on use the new one.
   */
  #warnOfImmutable(before: Origin, next: Origin): void {
    for (const [key, { kind, object }] of before) {
      const now = next.get(key);
      if (
        (kind !== 'ConfigMap' && kind !== 'Secret') ||
        object.immutable !== true ||
        (now?.kind !== 'ConfigMap' && now?.kind !== 'Secret')
      )
        continue;
      const fields = [
        ...(now.object.immutable === true ? [] : ['immutable']),
        ...(['data', 'binaryData'] as const).filter(
          (field) => !sameContent(partOf(object, field), partOf(now.object, field)),
        ),
      ];
      for (const field of fields) {
        const problem = `${kind} ${object.metadata.namespace}/${object.metadata.name}: ${field}: Forbidden: field is immutable when \`immutable\` is set`;
        this.#log?.warn(
          'an immutable object was changed: existing volumes keep the old content, pods that start from now on use the new one',
          { problem },
        );
      }
    }
  }

  onChange(listener: (change: ClusterObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

function partOf(object: ConfigMap | Secret, field: 'data' | 'binaryData'): unknown {
  return field === 'data' ? object.data : 'binaryData' in object ? object.binaryData : undefined;
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
