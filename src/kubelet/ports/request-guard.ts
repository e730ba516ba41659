/** The user of a request. */
export interface RequestUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * A request as a guard checks it. `path` is exactly the string that the router uses: percent-decoded, without the
 * query.
 */
export interface GuardedRequest {
  /**
   * The client certificate in DER. The client proved that it has the private key. Whether the CA is trusted is not
   * checked before.
   */
  readonly clientCertificate: Uint8Array | undefined;
  /** The Authorization header, unchanged. */
  readonly authorization: string | undefined;
  readonly method: string;
  readonly path: string;
  /** Whether it requests a raw connection (`Connection: Upgrade`). */
  readonly isUpgrade: boolean;
}

/** A request with additional facts for a server for browsers. */
export interface ListenedRequest extends GuardedRequest {
  readonly cookie: string | undefined;
  /** The address of the client; empty if unknown, for example after the connection has ended. */
  readonly remoteAddress: string;
}

export type GuardVerdict =
  | { readonly outcome: 'allowed'; readonly user: RequestUser }
  /** The response, in plain text. */
  | { readonly outcome: 'refused'; readonly status: 401 | 403 | 429 | 500; readonly body: string };

/** Decides about each request before its path is handled. Never rejects. */
export interface RequestGuard<Request extends GuardedRequest = GuardedRequest> {
  check(request: Request): Promise<GuardVerdict>;
}
