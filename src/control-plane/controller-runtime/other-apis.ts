/** APIs that other servers serve behind APIServices, for controllers. */
export interface OtherApis {
  /** The first of the versions that another server serves; undefined when none does. */
  versionOf(group: string, versions: readonly string[]): string | undefined;
  /**
   * The JSON response to a GET of this path, at most 4 MiB within five seconds. Rejects with the message of the server's
   * Status, or with the reason why there is no response.
   */
  get(api: { readonly group: string; readonly version: string }, path: string): Promise<unknown>;
}

/** Of a cluster without such servers. */
export const noOtherApis: OtherApis = {
  versionOf: () => undefined,
  get: ({ group, version }) => Promise.reject(new Error(`no server serves ${group}/${version}`)),
};
