import type { ObjectMeta } from '../core/meta.ts';

/** The fields that every object of the API has. */
export interface ApiObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: ObjectMeta;
}

/**
 * A kind, for clients; `T` is the TypeScript type of its objects. Each kind has one constant in `resource-types.ts`.
 */
export interface ResourceType<T extends ApiObject = ApiObject> {
  /** '' for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, as in paths: `pods`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Only for the compiler: ties `T` to the constant. Never set. */
  readonly objectType?: T;
}

/** `apps/v1`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

export interface ObjectKey {
  /** '' for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

export function keyOf(object: ApiObject): ObjectKey {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

/** `namespace/name`, or the name alone: the key of work queues and stores, as client-go's. */
export function formatKey({ namespace, name }: ObjectKey): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
