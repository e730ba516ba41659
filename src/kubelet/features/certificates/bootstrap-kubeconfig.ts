import { certificatesOf } from '../../../pki/pem.ts';
import { isExpired } from './decide-rotation.ts';

type Section = Readonly<Record<string, unknown>>;

/** The kubeconfig a node has after it has joined: the cluster of the bootstrap kubeconfig, and the certificate by its path, so that it is never stale. JSON, which is YAML too, with upstream's names. */
export function kubeconfigAfterBootstrap(cluster: Section, authorityPath: string | undefined, pemPath: string): object {
  const authority = authorityPath === undefined ? pick(cluster, 'certificate-authority-data') : { 'certificate-authority': authorityPath };
  return {
    apiVersion: 'v1',
    clusters: [{ cluster: { ...authority, ...pick(cluster, 'insecure-skip-tls-verify'), ...pick(cluster, 'tls-server-name'), ...pick(cluster, 'proxy-url'), server: cluster['server'] }, name: 'default-cluster' }],
    contexts: [{ context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, name: 'default-context' }],
    'current-context': 'default-context',
    kind: 'Config',
    preferences: {},
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  };
}

const pick = (section: Section, field: string): Section => (section[field] === undefined ? {} : { [field]: section[field] });

/** Why a kubeconfig does not spare the bootstrap: it has to have client certificates, none of them expired (upstream: isClientConfigStillValid). */
export function kubeconfigFault(clientCertificates: string | undefined, nowMs: number): string | undefined {
  if (clientCertificates === undefined) return 'it has no client certificate';
  try {
    const all = certificatesOf(clientCertificates);
    if (all.length === 0) return 'it has no client certificate';
    const expired = all.find(({ validToDate }) => isExpired({ notAfterMs: validToDate.getTime() }, nowMs));
    return expired === undefined ? undefined : `part of the existing bootstrap client certificate is expired: ${expired.validToDate.toISOString()}`;
  } catch (error) {
    return `its client certificate cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
