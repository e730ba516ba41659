/**
 * How a joining machine, which knows a cluster's address and the hash of its authority's key, gets the authority's
 * certificate.
 */
import { request } from 'node:https';
import { parse } from 'yaml';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { publicKeyHash } from '../../control-plane/cmd/token/token-command.ts';

const PATH = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const MAX_BYTES = 256 * 1024;
const LIMIT_MS = 20_000;

/**
 * The authority in PEM. Nothing that is read here is trusted before the hash of the key was compared, as in kubeadm
 * (upstream: RetrieveValidatedConfigInfo). Throws `Unavailable` without an answer, `Invalid` for a wrong one.
 */
export async function discoverAuthority(host: string, expectedHash: string): Promise<string> {
  const body = await readUnverified(`https://${host}${PATH}`);
  const ca = authorityOf(body);
  if (ca === undefined)
    throw new KubeletError('Invalid', `https://${host} is no Kubernetes cluster that can be joined with a token`);
  if (publicKeyHash(ca) !== expectedHash)
    throw new KubeletError(
      'Invalid',
      `the cluster at ${host} has another authority than --discovery-token-ca-cert-hash says: check the address, and print the command again on that machine`,
    );
  return ca;
}

/** Undefined when the body is not a `cluster-info`, or its authority is not a certificate. */
export function authorityOf(body: string): string | undefined {
  try {
    const map = JSON.parse(body) as { data?: { kubeconfig?: unknown } } | null;
    const info = parse(String(map?.data?.kubeconfig ?? '')) as {
      clusters?: readonly { cluster?: Record<string, unknown> }[];
    } | null;
    const data = info?.clusters?.[0]?.cluster?.['certificate-authority-data'];
    if (typeof data !== 'string') return undefined;
    const ca = Buffer.from(data, 'base64').toString();
    publicKeyHash(ca);
    return ca;
  } catch {
    return undefined;
  }
}

function readUnverified(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(
        new KubeletError(
          'Unavailable',
          `${new URL(url).host} does not answer: ${errorMessage(error)}. Is the cluster started with --listen, and its port open in the firewall?`,
          { cause: error },
        ),
      );
    // No credentials are sent, and the answer is only accepted with the right hash.
    const call = request(url, { rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(LIMIT_MS) });
    call.on('error', fail);
    call.on('response', (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BYTES) answer.destroy(new Error('its answer is too long'));
        else chunks.push(chunk);
      });
      answer.on('error', fail);
      answer.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    call.end();
  });
}
