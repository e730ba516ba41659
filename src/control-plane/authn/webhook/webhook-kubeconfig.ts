import { readFileSync } from 'node:fs';
import path from 'node:path';
import { KubeletError } from '../../../base/errors.ts';
import { parseYamlQuietly } from '../../../base/quiet-parse.ts';
import type { HttpJsonTarget } from './http-json.ts';

/**
 * Reads the address and credentials of a webhook from a file in kubeconfig's format
 * (--authentication-token-webhook-config-file, --authorization-webhook-config-file). Throws `Invalid` for an unusable
 * file.
 */
export function readWebhookKubeconfig(file: string): Omit<HttpJsonTarget, 'timeoutMs'> {
  const fail = (why: string): never => {
    throw new KubeletError('Invalid', `${file}: ${why}`, { op: 'read webhook configuration' });
  };
  let config: unknown;
  try {
    config = parseYamlQuietly(readFileSync(file, 'utf8'), { maxAliasCount: 0 });
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
  const root = record(config);
  const contexts = list(root['contexts']);
  const wanted = text(root['current-context']);
  const context =
    contexts.length === 0
      ? fail('contexts are missing')
      : wanted === '' && contexts.length === 1
        ? contexts[0]
        : contexts.find(({ name }) => name === wanted);
  if (context === undefined) return fail(`there is no context ${JSON.stringify(wanted)}`);
  const { cluster: clusterName, user: userName } = record(context['context']);
  const cluster =
    list(root['clusters']).find(({ name }) => name === clusterName) ??
    fail(`there is no cluster ${JSON.stringify(clusterName)}`);
  const user = list(root['users']).find(({ name }) => name === userName);
  return { ...readCluster(file, record(cluster['cluster']), fail), ...readUser(file, record(user?.['user'])) };
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const list = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(record) : [];
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Returns `name-data` (base64), or the content of the file that `name` names, relative to the folder of the
 * configuration.
 */
function inlineOrFile(file: string, from: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const [data, pointer] = [text(from[`${name}-data`]), text(from[name])];
  if (data !== '') return Buffer.from(data, 'base64').toString();
  return pointer === '' ? undefined : readFileSync(path.resolve(path.dirname(file), pointer), 'utf8');
}

function readCluster(
  file: string,
  cluster: Readonly<Record<string, unknown>>,
  fail: (why: string) => never,
): { url: string; ca?: string; serverName?: string } {
  const url = text(cluster['server']);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return fail(`server must be an http or https URL, not ${JSON.stringify(url)}`);
  if (cluster['insecure-skip-tls-verify'] === true)
    return fail(
      'insecure-skip-tls-verify is not supported here, because the answers of the webhook grant access; set certificate-authority',
    );
  const ca = inlineOrFile(file, cluster, 'certificate-authority');
  const serverName = text(cluster['tls-server-name']);
  return { url, ...(ca !== undefined && { ca }), ...(serverName !== '' && { serverName }) };
}

function readUser(
  file: string,
  user: Readonly<Record<string, unknown>>,
): { certificate?: string; key?: string; bearerToken?: string } {
  const certificate = inlineOrFile(file, user, 'client-certificate');
  const key = inlineOrFile(file, user, 'client-key');
  const token = text(user['token']);
  return {
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(token !== '' && { bearerToken: token }),
  };
}
