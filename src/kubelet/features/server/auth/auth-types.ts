/** The user of a request (upstream: user.Info). */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The facts of a connection and the headers of a request. Nothing is verified yet. */
export interface CredentialFacts {
  /**
   * The client certificate in DER. The client proved that it has the private key. Whether the CA is trusted is not
   * checked here.
   */
  readonly clientCertificate: Uint8Array | undefined;
  /** The Authorization header, unchanged. */
  readonly authorization: string | undefined;
}

export type AuthenticationOutcome =
  | { readonly outcome: 'user'; readonly user: UserInfo }
  /** There is no credential of a kind that this authenticator knows. */
  | { readonly outcome: 'none' }
  /**
   * A credential is invalid or could not be checked. Then the client is not accepted as anonymous. The text is for the
   * log.
   */
  | { readonly outcome: 'failed'; readonly error: string };

/** Identifies the user of a request. Never rejects. */
export interface Authenticator {
  authenticate(facts: CredentialFacts): Promise<AuthenticationOutcome>;
}

/** The API attributes of a request to this server: always the node, with a subresource. */
export interface NodeAttributes {
  /**
   * `create`, `get`, `update`, `patch` or `delete`. It is empty for methods without an API verb, for which a user needs
   * all verbs.
   */
  readonly verb: string;
  readonly subresource: string;
  /** The path of the request, for authorizers that use it. */
  readonly path: string;
}

/** Decides about a request. Rejects if that is not possible now. */
export interface Authorizer {
  authorize(user: UserInfo, attributes: NodeAttributes): Promise<'allowed' | 'denied'>;
}
