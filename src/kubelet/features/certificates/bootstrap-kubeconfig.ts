import { Buffer } from 'node:buffer';
import { certificatesOf } from '../../../pki/pem.ts';
import { isExpired } from './decide-rotation.ts';

/** The cluster of a bootstrap kubeconfig. */
export interface JoinedCluster {
  readonly server: string;
  /** The path of the CA if it is a file, so that it is never stale, else the PEM text. */
  readonly authority: { readonly file: string } | { readonly pem: string } | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName?: string | undefined;
  readonly proxyUrl?: string | undefined;
}

/**
 * Builds the kubeconfig of a node that has joined: the cluster of the bootstrap kubeconfig, and the path of the
 * certificate. The names are upstream's. It keeps the server name and the proxy, which upstream drops.
 */
export function kubeconfigAfterBootstrap(
  { server, authority, insecureSkipTlsVerify, tlsServerName, proxyUrl }: JoinedCluster,
  pemPath: string,
): object {
  const cluster = {
    ...(authority !== undefined &&
      ('file' in authority
        ? { 'certificate-authority': authority.file }
        : { 'certificate-authority-data': Buffer.from(authority.pem).toString('base64') })),
    ...(insecureSkipTlsVerify && { 'insecure-skip-tls-verify': true }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
    server,
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
  };
  return {
    apiVersion: 'v1',
    clusters: [{ cluster, name: 'default-cluster' }],
    contexts: [
      { context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, name: 'default-context' },
    ],
    'current-context': 'default-context',
    kind: 'Config',
    preferences: {},
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  };
}

/**
 * Returns why a kubeconfig does not replace the bootstrap, or undefined if it does: it must have client certificates,
 * and none may be expired (upstream: isClientConfigStillValid).
 */
export function kubeconfigFault(clientCertificates: string | undefined, nowMs: number): string | undefined {
  if (clientCertificates === undefined) return 'it has no client certificate';
  try {
    const all = certificatesOf(clientCertificates);
    if (all.length === 0) return 'it has no client certificate';
    const expired = all.find(({ validToDate }) => isExpired({ notAfterMs: validToDate.getTime() }, nowMs));
    return expired === undefined
      ? undefined
      : `part of the existing bootstrap client certificate is expired: ${expired.validToDate.toISOString()}`;
  } catch (error) {
    return `its client certificate cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
