/** Who asks. Upstream: authentication/user. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What an authenticator may look at. */
export interface AuthenticationRequest {
  /**
   * The client's certificate in DER when TLS checked it against the client CA, and what stands between it and the CA.
   */
  readonly clientCertificate?: { readonly der: Uint8Array };
  /** The `Authorization` header. */
  readonly authorization?: string;
  /** Tokens that WebSocket clients send as a subprotocol. */
  readonly webSocketToken?: string;
  /** All headers, by names in small letters, each line a value of its own: for proxies that say in them who asks. */
  readonly readHeaders?: () => ReadonlyMap<string, readonly string[]>;
}

/**
 * `none`: these credentials are not of my kind; ask the next. `failed`: they are, and are wrong (the others are asked
 * all the same, as upstream's union does).
 */
export type AuthenticationResult =
  | { readonly outcome: 'user'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'failed'; readonly error: string };

export interface Authenticator {
  readonly name: string;
  authenticate(request: AuthenticationRequest): Promise<AuthenticationResult>;
}

/** TokenReview asks these with audiences; the request path with none, meaning the API's own. */
export interface TokenAuthenticator {
  readonly name: string;
  authenticateToken(token: string, audiences?: readonly string[]): Promise<AuthenticationResult>;
}

/** What is asked for: the attributes authorizers judge by (upstream: authorizer.Attributes). */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /**
   * `get list watch create update patch delete deletecollection`, special ones (`bind`, `escalate`, `impersonate`,
   * `approve`, `sign`, `use`), or the HTTP method in small letters.
   */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  /** The plural. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** For requests that are not about resources: `/healthz`. */
  readonly path: string;
  /** Selectors of lists, watches and deletecollections, as asked. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
  /** Something went wrong on the way (a missing role, say); the decision stands. */
  readonly evaluationError?: string;
}

export interface Authorizer {
  readonly name: string;
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
  /** What the user may do in the namespace, for SelfSubjectRulesReview. */
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
