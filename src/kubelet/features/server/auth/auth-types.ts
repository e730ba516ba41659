/** Who asks (upstream: user.Info). */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a connection and the headers of a request prove. Facts only: nothing here was judged. */
export interface CredentialFacts {
  /** DER of the certificate the client showed when the connection was made and proved to have the key of; whether anybody trusts it is not said. */
  readonly clientCertificate: Uint8Array | undefined;
  /** The header as it came. */
  readonly authorization: string | undefined;
}

export type AuthenticationOutcome =
  | { readonly outcome: 'user'; readonly user: UserInfo }
  /** Nothing was shown that this authenticator knows. */
  | { readonly outcome: 'none' }
  /** Something was shown and is wrong, or could not be checked: nobody is let in as anonymous then. The text is for the log. */
  | { readonly outcome: 'failed'; readonly error: string };

/** Never rejects. */
export interface Authenticator {
  authenticate(facts: CredentialFacts): Promise<AuthenticationOutcome>;
}

/** What of an object of the API a request to this server comes to: always the node, by a subresource. */
export interface NodeAttributes {
  /** `create`, `get`, `update`, `patch`, `delete`, or empty for methods the API has no verb for, which nobody may but who may all. */
  readonly verb: string;
  readonly subresource: string;
  /** Of the request, for those who authorize by it. */
  readonly path: string;
}

/** Rejects when it cannot tell now. */
export interface Authorizer {
  authorize(user: UserInfo, attributes: NodeAttributes): Promise<'allowed' | 'denied'>;
}

/** A request as the guard judges it. `path` is the very string the router goes by: percent-decoded, without the query. */
export interface GuardedRequest extends CredentialFacts {
  readonly method: string;
  readonly path: string;
  /** It asks to become a raw connection (`Connection: Upgrade`). */
  readonly isUpgrade: boolean;
}

export type GuardVerdict =
  | { readonly outcome: 'allowed'; readonly user: UserInfo }
  /** To be answered as it stands, in plain text. */
  | { readonly outcome: 'refused'; readonly status: 401 | 403 | 500; readonly body: string };

/** Stands before every path of the secure server. Never rejects. */
export interface RequestGuard {
  check(request: GuardedRequest): Promise<GuardVerdict>;
}
