export interface TokenOrder {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** Refuses a token of an account that was made again under this name. */
  readonly serviceAccountUid?: string;
  /** The token is invalidated with this pod. */
  readonly pod: { name: string; uid: string };
}

export interface IssuedToken {
  readonly token: string;
  /** Wall time. */
  readonly expiresAtMs: number;
}

/**
 * Service account tokens from the TokenRequest API. Each call returns a new token: the caller caches and renews them.
 */
export interface TokenSource {
  /**
   * Rejects with `NotFound` for an account that does not exist, `Unavailable` where no tokens are issued, as on a node
   * without an API server.
   */
  request(order: TokenOrder): Promise<IssuedToken>;
}

export interface PodToken extends IssuedToken {
  /** After how long to request it again. */
  readonly againInMs: number;
}

/** The tokens of this node's pods, cached and renewed in time (upstream: the kubelet's token manager). */
export interface PodTokens {
  /**
   * A valid token, the same until it is time to renew it; the old one while renewal fails. Rejects with `Unavailable`.
   */
  get(order: TokenOrder): Promise<PodToken>;
  /** The pod was removed; drops its tokens. */
  forget(podUid: string): void;
}
