import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { Buffer } from 'node:buffer';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { configMaps, secrets } from '../../../api/client/resource-types.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { readKubeconfig } from '../../../client/kubeconfig.ts';
import { writeSecretFile } from '../../../pki/pki-files.ts';

const USAGE = `usage: kubelet-control-plane token create [--data-dir DIR] [--ttl 24h0m0s] [--print-join-command] [--bootstrap-kubeconfig FILE]

Creates and prints a bootstrap token for joining nodes. --bootstrap-kubeconfig also writes a kubeconfig with the token, for the agent's flag of
that name. --print-join-command prints the command for kubeadm instead.
`;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const word = (length: number): string => Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('');

interface TokenRequest {
  readonly dataDir: string;
  /** The lifetime; 0 means that the token does not expire. */
  readonly ttlMs: number;
  readonly printsJoin: boolean;
  readonly kubeconfigFile: string | undefined;
}

/**
 * Runs `kubelet-control-plane token ...` for the control plane with this data directory. Resolves with the exit code.
 */
export async function tokenCommand(
  args: readonly string[],
  {
    write,
    defaultDataDir,
    nowMs,
  }: { readonly write: (text: string) => void; readonly defaultDataDir: string; readonly nowMs: number },
): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    write(USAGE);
    return 0;
  }
  let request: TokenRequest;
  try {
    request = parseRequest(args, defaultDataDir);
  } catch (error) {
    write(`${errorMessage(error)}\n${USAGE}`);
    return 1;
  }
  const token = `${word(6)}.${word(16)}`;
  const access = readKubeconfig(path.join(request.dataDir, 'admin.conf'));
  const transport = new HttpTransport(access, { userAgent: 'kubelet-control-plane' });
  try {
    const client = new HttpApiClient(transport);
    await client.create(secrets, tokenSecret(token, request.ttlMs === 0 ? undefined : nowMs + request.ttlMs));
    const { server, ca } = await whereToJoin(client);
    if (request.kubeconfigFile !== undefined)
      await writeSecretFile(path.resolve(request.kubeconfigFile), bootstrapKubeconfig(server, ca, token));
    write(
      request.printsJoin
        ? `kubeadm join ${new URL(server).host} --token ${token} --discovery-token-ca-cert-hash ${publicKeyHash(ca)}\n`
        : `${token}\n`,
    );
    return 0;
  } finally {
    transport.close();
  }
}

function parseRequest(args: readonly string[], defaultDataDir: string): TokenRequest {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'data-dir': { type: 'string' },
      ttl: { type: 'string' },
      'print-join-command': { type: 'boolean' },
      'bootstrap-kubeconfig': { type: 'string' },
    },
  });
  if (positionals.length !== 1 || positionals[0] !== 'create')
    throw new KubeletError(
      'Invalid',
      `token: ${positionals.length === 0 ? 'name a subcommand, as in: token create' : `there is no ${positionals.join(' ')}`}`,
    );
  const ttlMs = values.ttl === '0' ? 0 : parseDurationMs(values.ttl ?? '24h0m0s');
  if (ttlMs === undefined || ttlMs < 0)
    throw new KubeletError('Invalid', `--ttl: ${JSON.stringify(values.ttl)} is not a duration such as 24h0m0s`);
  return {
    dataDir: values['data-dir'] ?? defaultDataDir,
    ttlMs,
    printsJoin: values['print-join-command'] === true,
    kubeconfigFile: values['bootstrap-kubeconfig'],
  };
}

/** As in kubeadm, for its group of joining nodes. */
export function tokenSecret(
  token: string,
  expiresAtMs: number | undefined,
): { metadata: { name: string; namespace: string; uid: string }; type: string; data: Record<string, string> } {
  const [id = '', secret = ''] = token.split('.');
  const texts: Readonly<Record<string, string>> = {
    'token-id': id,
    'token-secret': secret,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
    ...(expiresAtMs !== undefined && { expiration: new Date(expiresAtMs).toISOString().replace(/\.\d+Z$/, 'Z') }),
  };
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  return {
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system', uid: '' },
    type: 'bootstrap.kubernetes.io/token',
    data,
  };
}

/** Information that the cluster publishes for joining nodes. */
async function whereToJoin(client: HttpApiClient): Promise<{ readonly server: string; readonly ca: string }> {
  const { data } = await client.get(configMaps, { namespace: 'kube-public', name: 'cluster-info' });
  const info = parse(data?.['kubeconfig'] ?? '') as {
    clusters?: readonly { cluster?: { server?: string; 'certificate-authority-data'?: string } }[];
  } | null;
  const cluster = info?.clusters?.[0]?.cluster;
  if (cluster?.server === undefined || cluster['certificate-authority-data'] === undefined)
    throw new KubeletError('Invalid', 'the ConfigMap kube-public/cluster-info names no cluster');
  return { server: cluster.server, ca: Buffer.from(cluster['certificate-authority-data'], 'base64').toString('utf8') };
}

export function bootstrapKubeconfig(server: string, ca: string, token: string): string {
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'kubernetes', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
      ],
      contexts: [
        {
          name: 'tls-bootstrap-token-user@kubernetes',
          context: { cluster: 'kubernetes', user: 'tls-bootstrap-token-user' },
        },
      ],
      'current-context': 'tls-bootstrap-token-user@kubernetes',
      users: [{ name: 'tls-bootstrap-token-user', user: { token } }],
    },
    { lineWidth: 0 },
  );
}

/** `sha256:...` of the authority's public key, by which kubeadm knows it. */
export function publicKeyHash(ca: string): string {
  const spki = new X509Certificate(ca).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(spki).digest('hex')}`;
}
