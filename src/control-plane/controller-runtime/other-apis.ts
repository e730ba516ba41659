/** A resource in namespaces, in the version that its server prefers. */
export interface OtherResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly verbs: readonly string[];
}

/** APIs that other servers serve behind APIServices, for controllers. */
export interface OtherApis {
  /** The first of the versions that another server serves; undefined when none does. */
  versionOf(group: string, versions: readonly string[]): string | undefined;
  /**
   * The JSON response to a GET of this path, at most 4 MiB within five seconds. Rejects with the message of the server's
   * Status, or with the reason why there is no response.
   */
  get(api: { readonly group: string; readonly version: string }, path: string): Promise<unknown>;
  /** A DELETE of this path; it rejects as `get`. */
  delete(api: { readonly group: string; readonly version: string }, path: string): Promise<void>;
  /** What the servers serve in namespaces; `unavailable`: the group versions of servers that do not answer. */
  resources(): { readonly namespaced: readonly OtherResource[]; readonly unavailable: readonly string[] };
}

/** Of a cluster without such servers. */
export const noOtherApis: OtherApis = {
  versionOf: () => undefined,
  get: ({ group, version }) => Promise.reject(new Error(`no server serves ${group}/${version}`)),
  delete: ({ group, version }) => Promise.reject(new Error(`no server serves ${group}/${version}`)),
  resources: () => ({ namespaced: [], unavailable: [] }),
};
