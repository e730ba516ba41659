import { Buffer } from 'node:buffer';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { sameContent } from './canonical-json.ts';

export interface ObjectChange {
  kind: 'ConfigMap' | 'Secret';
  namespace: string;
  name: string;
}

interface Origin {
  configMaps: ReadonlyMap<string, ConfigMap>;
  secrets: ReadonlyMap<string, Secret>;
}

const keyOf = (object: ConfigMap | Secret): string => `${object.metadata.namespace}/${object.metadata.name}`;

/** ConfigMaps and Secrets of a node without an API server. Objects are values: a changed one is a new object. */
export class ObjectStore {
  readonly #origins = new Map<string, Origin>();
  readonly #listeners = new Set<(change: ObjectChange) => void>();

  configMap(namespace: string, name: string): ConfigMap | undefined {
    return this.#find((origin) => origin.configMaps, `${namespace}/${name}`);
  }

  /** Its `stringData` is already merged into `data`, as the API server does it. */
  secret(namespace: string, name: string): Secret | undefined {
    return this.#find((origin) => origin.secrets, `${namespace}/${name}`);
  }

  /** Sets everything that `origin` (a source) holds; listeners hear of what differs, after all of it is in place. */
  replace(origin: string, objects: { configMaps: readonly ConfigMap[]; secrets: readonly Secret[] }): void {
    const before = this.#origins.get(origin);
    const next: Origin = {
      configMaps: new Map(objects.configMaps.map((object) => [keyOf(object), object])),
      secrets: new Map(objects.secrets.map((object) => [keyOf(object), completeSecret(object)])),
    };
    this.#origins.set(origin, next);
    const changes = [...changesOf('ConfigMap', before?.configMaps, next.configMaps), ...changesOf('Secret', before?.secrets, next.secrets)];
    for (const change of changes) for (const listener of this.#listeners) listener(change);
  }

  /** Returns a function that ends the subscription. */
  onChange(listener: (change: ObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #find<T>(of: (origin: Origin) => ReadonlyMap<string, T>, key: string): T | undefined {
    for (const origin of this.#origins.values()) {
      const found = of(origin).get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function completeSecret(secret: Secret): Secret {
  if (secret.stringData === undefined) return secret;
  const { stringData, ...rest } = secret;
  const plain = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')] as const);
  return { ...rest, data: { ...secret.data, ...Object.fromEntries(plain) } };
}

function changesOf<T>(kind: ObjectChange['kind'], before: ReadonlyMap<string, T> | undefined, next: ReadonlyMap<string, T>): ObjectChange[] {
  const keys = new Set([...(before?.keys() ?? []), ...next.keys()]);
  return [...keys]
    .filter((key) => !sameContent(before?.get(key), next.get(key)))
    .map((key) => {
      const [namespace = '', name = ''] = key.split('/');
      return { kind, namespace, name };
    });
}
