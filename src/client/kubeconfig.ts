import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { KubeletError } from '../base/errors.ts';
import type { ClusterAccess } from './cluster-access.ts';

type Section = Readonly<Record<string, unknown>>;

/** Reads a kubeconfig and follows its current context. Throws `Invalid` that names the file and what is wrong in it. */
export function readKubeconfig(file: string, context?: string): ClusterAccess {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeletError('NotFound', `kubeconfig ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`, { op: 'read kubeconfig' });
  }
  return parseKubeconfig(text, file, context);
}

/** `file` is where relative paths in it start. */
export function parseKubeconfig(text: string, file: string, context?: string): ClusterAccess {
  const wrong = (what: string): KubeletError => new KubeletError('Invalid', `kubeconfig ${file}: ${what}`, { op: 'read kubeconfig' });
  let config: unknown;
  try {
    config = parse(text);
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
  if (!isSection(config)) throw wrong('is empty');
  const contextName = context ?? String(config['current-context'] ?? '');
  const chosen = find(config['contexts'], contextName, 'context');
  if (chosen === undefined) throw wrong(`there is no context ${JSON.stringify(contextName)}`);
  const cluster = find(config['clusters'], String(chosen['cluster'] ?? ''), 'cluster');
  if (cluster === undefined) throw wrong(`there is no cluster ${JSON.stringify(chosen['cluster'] ?? '')}`);
  const userName = String(chosen['user'] ?? '');
  const user = find(config['users'], userName, 'user') ?? (userName === '' ? {} : undefined);
  if (user === undefined) throw wrong(`there is no user ${JSON.stringify(userName)}`);
  for (const way of ['exec', 'auth-provider']) if (user[way] !== undefined) throw wrong(`user ${JSON.stringify(userName)} signs in by ${way}, which is not supported here`);
  const server = cluster['server'];
  if (typeof server !== 'string' || !URL.canParse(server)) throw wrong(`server ${JSON.stringify(server ?? '')} is no URL`);
  const read = (section: Section, field: string): string | undefined => dataOrFile(section, field, file, wrong);
  return {
    server: server.replace(/\/+$/, ''),
    insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'] === true,
    namespace: textOf(chosen, 'namespace') ?? 'default',
    ...present({
      ca: read(cluster, 'certificate-authority'),
      tlsServerName: textOf(cluster, 'tls-server-name'),
      certificate: read(user, 'client-certificate'),
      key: read(user, 'client-key'),
      token: tokenFile(user, file, wrong) ?? textOf(user, 'token'),
      username: textOf(user, 'username'),
      password: textOf(user, 'password'),
    }),
  };
}

const isSection = (value: unknown): value is Section => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (section: Section, field: string): string | undefined => (typeof section[field] === 'string' ? section[field] : undefined);

/** The entry of that name in a list of `{name, KIND}`. */
function find(list: unknown, name: string, kind: string): Section | undefined {
  const entry = Array.isArray(list) ? (list as readonly unknown[]).find((each): each is Section => isSection(each) && each['name'] === name) : undefined;
  const section = entry?.[kind];
  return isSection(section) ? section : undefined;
}

/** `client-key-data`, or what is in the file `client-key`. */
function dataOrFile(section: Section, field: string, file: string, wrong: (what: string) => KubeletError): string | undefined {
  const data = textOf(section, `${field}-data`);
  if (data !== undefined && data !== '') return Buffer.from(data, 'base64').toString('utf8');
  const named = textOf(section, field);
  return named === undefined || named === '' ? undefined : readBeside(file, named, field, wrong);
}

function tokenFile(user: Section, file: string, wrong: (what: string) => KubeletError): string | undefined {
  const named = textOf(user, 'tokenFile');
  return named === undefined || named === '' ? undefined : readBeside(file, named, 'tokenFile', wrong).trim();
}

function readBeside(file: string, named: string, field: string, wrong: (what: string) => KubeletError): string {
  try {
    return readFileSync(path.resolve(path.dirname(file), named), 'utf8');
  } catch (error) {
    throw wrong(`${field} ${named} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Without what is undefined. */
function present<T extends Readonly<Record<string, string | undefined>>>(fields: T): { [Key in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [Key in keyof T]?: string };
}
