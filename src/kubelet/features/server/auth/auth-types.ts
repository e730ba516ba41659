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
