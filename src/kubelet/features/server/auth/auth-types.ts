/** The user that sends a request (upstream: user.Info). */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a connection and the headers of a request contain. Facts only, nothing is verified yet. */
export interface CredentialFacts {
  /**
   * DER of the client certificate, whose private key the client proved to have; whether its CA is trusted is not
   * checked here.
   */
  readonly clientCertificate: Uint8Array | undefined;
  /** The header, unchanged. */
  readonly authorization: string | undefined;
}

export type AuthenticationOutcome =
  | { readonly outcome: 'user'; readonly user: UserInfo }
  /** No credential of a kind this authenticator knows. */
  | { readonly outcome: 'none' }
  /**
   * A credential is invalid, or could not be checked: the client is then not accepted as anonymous. The text is for the
   * log.
   */
  | { readonly outcome: 'failed'; readonly error: string };

/** Never rejects. */
export interface Authenticator {
  authenticate(facts: CredentialFacts): Promise<AuthenticationOutcome>;
}

/** The API attributes of a request to this server: always the node, with a subresource. */
export interface NodeAttributes {
  /**
   * `create`, `get`, `update`, `patch`, `delete`, or empty for methods without an API verb, which only a user with all
   * verbs may use.
   */
  readonly verb: string;
  readonly subresource: string;
  /** Of the request, for authorizers that use it. */
  readonly path: string;
}

/** Rejects when it cannot decide now. */
export interface Authorizer {
  authorize(user: UserInfo, attributes: NodeAttributes): Promise<'allowed' | 'denied'>;
}

/**
 * A request as the guard checks it. `path` is the identical string that the router uses: percent-decoded, without the
 * query.
 */
export interface GuardedRequest extends CredentialFacts {
  readonly method: string;
  readonly path: string;
  /** It requests a raw connection (`Connection: Upgrade`). */
  readonly isUpgrade: boolean;
}

export type GuardVerdict =
  | { readonly outcome: 'allowed'; readonly user: UserInfo }
  /** The response, in plain text. */
  | { readonly outcome: 'refused'; readonly status: 401 | 403 | 500; readonly body: string };

/** Checked before every path of the secure server. Never rejects. */
export interface RequestGuard {
  check(request: GuardedRequest): Promise<GuardVerdict>;
}
