import { generateKeyPairSync } from 'node:crypto';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { privateKeyPem, tryPrivateKey } from '../../../pki/pem.ts';
import type { CertificateNamesWanted } from './decide-rotation.ts';
import type { Issue } from './certificate-manager.ts';
import { requestCertificate } from './request-certificate.ts';

/** How long a request of each kind waits before a new one is created. The values are upstream's. */
const ROTATION_PATIENCE_MS = 15 * 60_000;
const BOOTSTRAP_PATIENCE_MS = 60 * 60_000;

export const newKey = (): string => privateKeyPem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);

/** Returns the names in a node's client certificate (upstream: authorization of nodes, system:nodes). */
export const clientNames = (nodeName: string): CertificateNamesWanted => ({
  commonName: `system:node:${nodeName}`,
  organizations: ['system:nodes'],
  dnsNames: [],
  ipAddresses: [],
});

/**
 * The file `kubelet-client.key.tmp` with the key of a pending request, with which a restarted agent continues the same
 * request.
 */
export interface PendingKey {
  read(): Promise<string | undefined>;
  write(key: string): Promise<void>;
  remove(): Promise<void>;
}

/** A client with the bootstrap credentials. It is closed after use. */
export interface BootstrapClient {
  readonly client: ApiClient;
  close(): void;
}

export interface ClientCertificateOptions {
  /** The API client with the node's credentials, which rotates a certificate that is still valid. */
  readonly client: ApiClient;
  /**
   * Returns a client with the credentials of the bootstrap kubeconfig; undefined without one. Rejects if the file
   * cannot be used now.
   */
  readonly bootstrap: (() => Promise<BootstrapClient>) | undefined;
  readonly pendingKey: PendingKey;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Obtains the node's client certificate with its current one while that is valid, else with the bootstrap credentials,
 * else with its kubeconfig.
 */
export function issueClientCertificate(options: ClientCertificateOptions): Issue {
  const { client, bootstrap, clock, random, log } = options;
  const context = { clock, random, log };
  return async (names, current, signal) => {
    if (current !== undefined || bootstrap === undefined) {
      const key = newKey();
      const outcome = await requestCertificate(
        { signerName: SIGNER_NAME, names, key, isNamed: false },
        { ...context, client, patienceMs: ROTATION_PATIENCE_MS, signal },
      );
      return outcome.kind === 'issued' ? { ...outcome, key } : outcome;
    }
    const { client: first, close } = await bootstrap();
    try {
      return await issueByPendingKey(options, names, {
        ...context,
        client: first,
        patienceMs: BOOTSTRAP_PATIENCE_MS,
        signal,
      });
    } finally {
      close();
    }
  };
}

const SIGNER_NAME = 'kubernetes.io/kube-apiserver-client-kubelet';

async function issueByPendingKey(
  { pendingKey, log }: ClientCertificateOptions,
  names: CertificateNamesWanted,
  context: Parameters<typeof requestCertificate>[1],
): ReturnType<Issue> {
  const kept = await pendingKey.read();
  const key = kept !== undefined && tryPrivateKey(kept) !== undefined ? kept : newKey();
  if (key !== kept) {
    log.debug(2, 'No valid private key and/or certificate found, reusing existing private key or creating a new one');
    await pendingKey.write(key);
  }
  const outcome = await requestCertificate({ signerName: SIGNER_NAME, names, key, isNamed: true }, context);
  // The name of a request is derived from its key, so a failed request is abandoned by removing the key.
  if (outcome.kind === 'spent') await pendingKey.remove();
  return outcome.kind === 'issued' ? { ...outcome, key } : outcome;
}
