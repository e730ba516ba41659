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
