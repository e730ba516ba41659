import type { ApiClient } from '../../api/client/api-client.ts';

/** A resource in namespaces, in the version that its server prefers. */
export interface OtherResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly verbs: readonly string[];
}

/** A resource of one kind, in namespaces or not. */
export interface OtherKind extends OtherResource {
  readonly namespaced: boolean;
}

/** A kind whose objects can be listed, watched and deleted. */
export interface CollectableKind extends OtherKind {
  readonly kind: string;
}

/** APIs that other servers serve behind APIServices, for controllers. */
export interface OtherApis {
  /** The first of the versions that another server serves; undefined when none does. */
  versionOf(group: string, versions: readonly string[]): string | undefined;
  /**
   * The JSON response to a GET of this path, at most 4 MiB within five seconds. Rejects with the message of the server's
   * Status, or with the reason why there is no response: with `ApiStatusError` NotFound only if the Status says that the
   * named object does not exist. A `list of metadata` may contain more than metadata if the server cannot leave it out.
   */
  get(
    api: { readonly group: string; readonly version: string },
    path: string,
    form?: 'list of metadata',
  ): Promise<unknown>;
  /** A DELETE of this path; it rejects as `get`. */
  delete(api: { readonly group: string; readonly version: string }, path: string): Promise<void>;
  /** The resource whose objects are of this kind, also while its server does not answer. */
  find(group: string, kind: string): OtherKind | undefined;
  /** The kinds whose objects can be listed, watched and deleted, also of servers that do not answer. */
  collectable(): readonly CollectableKind[];
  /** The group versions of servers that have never said which kinds they serve. */
  undiscovered(): readonly string[];
  /** Calls the listener after a change of what is served or available; returns the function that unsubscribes. */
  onChange(listener: () => void): () => void;
  /**
   * A client for one of these kinds. It returns only the name, namespace, uid, version, owners, finalizers and time of
   * deletion of objects. It rejects with NotFound only if the server says that the named object does not exist.
   */
  clientFor(kind: { readonly group: string; readonly version: string }): ApiClient;
  /** What the servers serve in namespaces; `unavailable`: the group versions of servers that do not answer. */
  resources(): { readonly namespaced: readonly OtherResource[]; readonly unavailable: readonly string[] };
}

/** Of a cluster without such servers. */
export const noOtherApis: OtherApis = {
  versionOf: () => undefined,
  get: ({ group, version }) => Promise.reject(new Error(`no server serves ${group}/${version}`)),
  delete: ({ group, version }) => Promise.reject(new Error(`no server serves ${group}/${version}`)),
  find: () => undefined,
  collectable: () => [],
  undiscovered: () => [],
  onChange: () => () => undefined,
  clientFor: ({ group, version }) => {
    throw new Error(`no server serves ${group}/${version}`);
  },
  resources: () => ({ namespaced: [], unavailable: [] }),
};
