/**
 * The impersonated user, in addition to the own identity (upstream: `as`, `as-uid`, `as-groups`, `as-user-extra` of a
 * kubeconfig).
 */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** How to connect to an API server, and as which user. */
export interface ClusterAccess {
  /** `https://host:port`, with a path before `/api` if there is one. */
  readonly server: string;
  /** PEM; absent: the authorities of Node. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName?: string;
  /** An HTTP proxy for the connection to the server (CONNECT). */
  readonly proxyUrl?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonate?: Impersonation;
  /** Of the context. */
  readonly namespace: string;
}

/**
 * Provides the access to the server. It is called before every request, so that files replaced on disk take effect at
 * once.
 */
export interface AccessSource {
  /** Rejects if there is no usable access; the next call checks again. */
  current(): Promise<ClusterAccess>;
  /**
   * Called when the server answered 401 to `access`: possibly stale credentials are fetched again. The result may be
   * the same.
   */
  renew(access: ClusterAccess): Promise<ClusterAccess>;
  /**
   * Calls the listener when the result of `current` changes, if the source detects that by itself. Returns a function
   * that unsubscribes.
   */
  onChange(listener: () => void): () => void;
}

/** PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** A client certificate that another component renews, such as `kubelet-client-current.pem`. */
export interface ClientCredentials {
  /** Undefined while there is none: the kubeconfig's own credentials are used. */
  current(): ClientCertificate | undefined;
  /**
   * Calls the listener when `current` has changed: connections are opened again with it (upstream closes all of them).
   * Returns a function that unsubscribes.
   */
  onChange(listener: () => void): () => void;
}

/** An access that never changes. */
export function fixedAccess(access: ClusterAccess): AccessSource {
  return {
    current: () => Promise.resolve(access),
    renew: () => Promise.resolve(access),
    onChange: () => () => undefined,
  };
}

/**
 * The same server, but only with the certificate of `credentials` as soon as it exists (upstream: a kubelet that
 * rotates its certificate strips its kubeconfig of every other credential).
 */
export function withClientCertificate(source: AccessSource, credentials: ClientCredentials): AccessSource {
  let last:
    | { readonly access: ClusterAccess; readonly own: ClientCertificate; readonly signed: ClusterAccess }
    | undefined;
  // Returns the same object while nothing changes, so that a caller that was refused knows that a retry is useless.
  const signed = (access: ClusterAccess): ClusterAccess => {
    const own = credentials.current();
    if (own === undefined) return access;
    if (last?.access === access && last.own === own) return last.signed;
    const made = withOnly(access, own);
    last = { access, own, signed: made };
    return made;
  };
  return {
    current: async () => signed(await source.current()),
    renew: async (access) => signed(await source.renew(access)),
    onChange(listener) {
      const ends = [source.onChange(listener), credentials.onChange(listener)];
      return () => ends.forEach((end) => end());
    },
  };
}

function withOnly(
  { server, ca, insecureSkipTlsVerify, tlsServerName, proxyUrl, namespace }: ClusterAccess,
  { certificate, key }: ClientCertificate,
): ClusterAccess {
  return {
    server,
    insecureSkipTlsVerify,
    namespace,
    ...(ca !== undefined && { ca }),
    ...(tlsServerName !== undefined && { tlsServerName }),
    ...(proxyUrl !== undefined && { proxyUrl }),
    certificate,
    key,
  };
}

export function isAccessSource(access: ClusterAccess | AccessSource): access is AccessSource {
  return 'renew' in access;
}
