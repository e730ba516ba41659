export interface TokenOrder {
  namespace: string;
  serviceAccount: string;
  audiences: readonly string[];
  expirationSeconds: number;
  /** The token ends with this pod. */
  pod: { name: string; uid: string };
}

export interface IssuedToken {
  token: string;
  /** Wall time. */
  expiresAtMs: number;
}

/** Tokens of service accounts, as the TokenRequest API gives them out. Each call is a new token: keeping and renewing them is the caller's. */
export interface TokenSource {
  /** Rejects with `NotFound` for an account that does not exist, `Unavailable` where nobody gives out tokens, as on a node without an API server. */
  request(order: TokenOrder): Promise<IssuedToken>;
}

export interface PodToken extends IssuedToken {
  /** After how long it is to be asked for again. */
  againInMs: number;
}

/** The tokens of this node's pods, kept and renewed in time (upstream: the kubelet's token manager). */
export interface PodTokens {
  /** A token that holds, the same until it is time for a new one; the old one where none is to be had. Rejects with `Unavailable`. */
  get(order: TokenOrder): Promise<PodToken>;
  /** The pod is gone, and its tokens with it. */
  forget(podUid: string): void;
}
