/** The user of a request. Upstream: authentication/user. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The credentials of a request. */
export interface AuthenticationRequest {
  /** The client's certificate in DER, if TLS verified it with the client CA, and the intermediate certificates. */
  readonly clientCertificate?: { readonly der: Uint8Array };
  /** The `Authorization` header. */
  readonly authorization?: string;
  /** Tokens that WebSocket clients send as a subprotocol. */
  readonly webSocketToken?: string;
  /** All headers by lower-case name, one value per line, for authenticating proxies. */
  readonly readHeaders?: () => ReadonlyMap<string, readonly string[]>;
}

/**
 * `none`: the authenticator does not handle these credentials. `failed`: it does, and they are invalid (as in
 * upstream's union, the others are still tried).
 */
export type AuthenticationResult =
  | { readonly outcome: 'user'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'failed'; readonly error: string };

export interface Authenticator {
  readonly name: string;
  authenticate(request: AuthenticationRequest): Promise<AuthenticationResult>;
}

/** TokenReview passes audiences; the request path passes none, which means the API's own. */
export interface TokenAuthenticator {
  readonly name: string;
  authenticateToken(token: string, audiences?: readonly string[]): Promise<AuthenticationResult>;
}

/** The attributes of a request for authorizers (upstream: authorizer.Attributes). */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /**
   * One of `get list watch create update patch delete deletecollection`, a special verb (`bind`, `escalate`,
   * `impersonate`, `approve`, `sign`, `use`), or the HTTP method in lower case.
   */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  /** The plural name of the resource. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path of a request without a resource, such as `/healthz`. */
  readonly path: string;
  /** The selectors of lists, watches and deletecollections. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
  /** An error of the decision, such as a missing role. The decision is still valid. */
  readonly evaluationError?: string;
}

export interface Authorizer {
  readonly name: string;
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
  /** Returns the rules of the user in the namespace, for SelfSubjectRulesReview. */
  rulesFor?(user: UserInfo, namespace: string): Promise<UserRules>;
}

export interface UserRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
  }[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}
