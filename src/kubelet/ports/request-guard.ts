/** Who sends a request. */
export interface RequestUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * A request as a guard checks it. `path` is the identical string that the router uses: percent-decoded, without the
 * query.
 */
export interface GuardedRequest {
  /**
   * DER of the client certificate, whose private key the client proved to have; whether its CA is trusted is not
   * checked before.
   */
  readonly clientCertificate: Uint8Array | undefined;
  /** The header, unchanged. */
  readonly authorization: string | undefined;
  readonly method: string;
  readonly path: string;
  /** It requests a raw connection (`Connection: Upgrade`). */
  readonly isUpgrade: boolean;
}

/** A request with what only a server for browsers needs. */
export interface ListenedRequest extends GuardedRequest {
  readonly cookie: string | undefined;
  /** The address of the client; empty when unknown, as after the connection has ended. */
  readonly remoteAddress: string;
}

export type GuardVerdict =
  | { readonly outcome: 'allowed'; readonly user: RequestUser }
  /** The response, in plain text. */
  | { readonly outcome: 'refused'; readonly status: 401 | 403 | 429 | 500; readonly body: string };

/** Checked before every path of a server. Never rejects. */
export interface RequestGuard<Request extends GuardedRequest = GuardedRequest> {
  check(request: Request): Promise<GuardVerdict>;
}
