export interface TokenOrder {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** The UID of the account. A token of a recreated account with this name is refused. */
  readonly serviceAccountUid?: string;
  /** The pod to which the token is bound. It becomes invalid with the pod. */
  readonly pod: { name: string; uid: string };
}

export interface IssuedToken {
  readonly token: string;
  /** A wall-clock time. */
  readonly expiresAtMs: number;
}

/**
 * Service account tokens from the TokenRequest API. Each call returns a new token, and the caller caches and renews
 * them.
 */
export interface TokenSource {
  /**
   * Requests a token. Rejects with `NotFound` if the account does not exist, and with `Unavailable` if no tokens are
   * issued, as on a node without an API server.
   */
  request(order: TokenOrder): Promise<IssuedToken>;
}

export interface PodToken extends IssuedToken {
  /** The milliseconds after which to request it again. */
  readonly againInMs: number;
}

/** The tokens of this node's pods, cached and renewed in time (upstream: the kubelet's token manager). */
export interface PodTokens {
  /**
   * Returns a valid token, the same until its renewal. While the renewal fails, it is the old one. Rejects with
   * `Unavailable`.
   */
  get(order: TokenOrder): Promise<PodToken>;
  /** Drops the tokens of a removed pod. */
  forget(podUid: string): void;
}
