import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorMessage, KubeletError } from '../base/errors.ts';
import { parseYamlQuietly } from '../base/quiet-parse.ts';
import type { ClusterAccess, Impersonation } from './cluster-access.ts';
import { parseExecPlugin } from './exec-plugin-config.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { find, isTrue, textOf } from './kubeconfig-section.ts';
import type { Section } from './kubeconfig-section.ts';

/** The current context of a kubeconfig, without reading its files or running its plugin. */
export interface KubeconfigEntry {
  /** The settings that need neither. */
  readonly access: ClusterAccess;
  /** Absolute paths. */
  readonly files: {
    readonly ca?: string;
    readonly certificate?: string;
    readonly key?: string;
    readonly token?: string;
  };
  readonly exec?: ExecPlugin;
  /** Of the user, for errors. */
  readonly userName: string;
}

type Wrong = (what: string) => KubeletError;
type ReadFile = (file: string) => string;

const readText: ReadFile = (file) => readFileSync(file, 'utf8');

/**
 * Reads a kubeconfig and follows its current context. Throws `NotFound`, or `Invalid` that names the file and what is
 * wrong in it.
 */
export function readKubeconfigEntry(file: string, context?: string, read: ReadFile = readText): KubeconfigEntry {
  let text: string;
  try {
    text = read(file);
  } catch (error) {
    throw new KubeletError('NotFound', `kubeconfig ${file} cannot be read: ${errorMessage(error)}`, {
      op: 'read kubeconfig',
    });
  }
  return parseKubeconfigEntry(text, file, context);
}

/** The same, with the contents of its files. A credential plugin needs a `KubeconfigSource`. */
export function readKubeconfig(file: string, context?: string): ClusterAccess {
  return withoutPrograms(readKubeconfigEntry(file, context), file);
}

export function parseKubeconfig(text: string, file: string, context?: string): ClusterAccess {
  return withoutPrograms(parseKubeconfigEntry(text, file, context), file);
}

function withoutPrograms(entry: KubeconfigEntry, file: string): ClusterAccess {
  if (entry.exec !== undefined)
    throw wrongIn(file)(`user ${JSON.stringify(entry.userName)} signs in by exec, which is not supported here`);
  return readFiles(entry, file);
}

/** Throws `Invalid` when a file cannot be read. */
export function readFiles({ access, files }: KubeconfigEntry, file: string, read: ReadFile = readText): ClusterAccess {
  const fields = {
    ca: 'certificate-authority',
    certificate: 'client-certificate',
    key: 'client-key',
    token: 'tokenFile',
  } as const;
  const found: { ca?: string; certificate?: string; key?: string; token?: string } = {};
  for (const field of ['ca', 'certificate', 'key', 'token'] as const) {
    const named = files[field];
    if (named === undefined) continue;
    try {
      found[field] = field === 'token' ? read(named).trim() : read(named);
    } catch (error) {
      throw wrongIn(file)(`${fields[field]} ${named} cannot be read: ${errorMessage(error)}`);
    }
    if (field === 'token' && found.token === '') throw wrongIn(file)(`tokenFile ${named} is empty`);
  }
  return { ...access, ...found };
}

/** `file` is where relative paths in it start. */
export function parseKubeconfigEntry(text: string, file: string, context?: string): KubeconfigEntry {
  const wrong = wrongIn(file);
  let config: unknown;
  try {
    config = parseYamlQuietly(text);
  } catch (error) {
    throw wrong(errorMessage(error));
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) throw wrong('is empty');
  const sections = config as Section;
  const contextName = context ?? String(sections['current-context'] ?? '');
  const chosen = find(sections['contexts'], contextName, 'context');
  if (chosen === undefined) throw wrong(`there is no context ${JSON.stringify(contextName)}`);
  const cluster = find(sections['clusters'], String(chosen['cluster'] ?? ''), 'cluster');
  if (cluster === undefined) throw wrong(`there is no cluster ${JSON.stringify(chosen['cluster'] ?? '')}`);
  const userName = String(chosen['user'] ?? '');
  const user = find(sections['users'], userName, 'user') ?? (userName === '' ? {} : undefined);
  if (user === undefined) throw wrong(`there is no user ${JSON.stringify(userName)}`);
  if (user['auth-provider'] !== undefined)
    throw wrong(`user ${JSON.stringify(userName)} signs in by auth-provider, which is not supported here`);
  const [ca, certificate, key] = [
    material(cluster, 'certificate-authority', file),
    material(user, 'client-certificate', file),
    material(user, 'client-key', file),
  ];
  const token = fileOf(user, 'tokenFile', file);
  checkUser(user, userName, wrong);
  const access: ClusterAccess = {
    server: serverOf(cluster, wrong),
    insecureSkipTlsVerify: isTrue(cluster, 'insecure-skip-tls-verify'),
    namespace: textOf(chosen, 'namespace') ?? 'default',
    ...present({
      ca: ca.data,
      tlsServerName: textOf(cluster, 'tls-server-name'),
      proxyUrl: proxyOf(cluster, wrong),
      certificate: certificate.data,
      key: key.data,
    }),
    ...present({
      token: token === undefined ? textOf(user, 'token') : undefined,
      username: textOf(user, 'username'),
      password: textOf(user, 'password'),
    }),
    ...impersonation(user, userName, wrong),
  };
  const exec = parseExecPlugin(user, { userName, cluster, folder: path.dirname(file), wrong });
  return {
    access,
    files: present({ ca: ca.file, certificate: certificate.file, key: key.file, token }),
    userName,
    ...(exec !== undefined && { exec }),
  };
}

const wrongIn =
  (file: string): Wrong =>
  (what) =>
    new KubeletError('Invalid', `kubeconfig ${file}: ${what}`, { op: 'read kubeconfig' });

function serverOf(cluster: Section, wrong: Wrong): string {
  const server = cluster['server'];
  if (typeof server !== 'string' || !URL.canParse(server) || !/^https?:/.test(server))
    throw wrong(`server ${withoutPassword(server)} is not a URL`);
  return server.replace(/(?<!\/)\/+$/, '');
}

/** Upstream supports SOCKS5 and HTTPS proxies, too; here they are an error rather than ignored. */
function proxyOf(cluster: Section, wrong: Wrong): string | undefined {
  const proxy = textOf(cluster, 'proxy-url');
  if (proxy !== undefined && (!URL.canParse(proxy) || new URL(proxy).protocol !== 'http:'))
    throw wrong(`proxy-url ${withoutPassword(proxy)} is not supported here; only http: is`);
  return proxy;
}

const withoutPassword = (url: unknown): string =>
  JSON.stringify(typeof url === 'string' ? url.replace(/\/\/[^/@]*@/, '//') : (url ?? ''));

/** `client-key-data` takes precedence over the file `client-key`. */
function material(section: Section, field: string, file: string): { readonly data?: string; readonly file?: string } {
  const data = textOf(section, `${field}-data`);
  if (data !== undefined) return { data: Buffer.from(data, 'base64').toString('utf8') };
  return present({ file: fileOf(section, field, file) });
}

function fileOf(section: Section, field: string, file: string): string | undefined {
  const named = textOf(section, field);
  return named === undefined ? undefined : path.resolve(path.dirname(file), named);
}

/** Upstream's messages (client-go tools/clientcmd validation). */
function checkUser(user: Section, name: string, wrong: Wrong): void {
  const has = (field: string): boolean => textOf(user, field) !== undefined;
  const ways = [
    ...(has('token') || has('tokenFile') ? ['token'] : []),
    ...(has('username') || has('password') ? ['basicAuth'] : []),
  ];
  if (ways.length > 1)
    throw wrong(
      `more than one authentication method found for ${name}; found [${ways.join(' ')}], only one is allowed`,
    );
  const [certificate, key] = (['client-certificate', 'client-key'] as const).map(
    (field) => has(field) || has(`${field}-data`),
  );
  if (certificate === true && key === false)
    throw wrong(
      `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`,
    );
}

function impersonation(user: Section, name: string, wrong: Wrong): { readonly impersonate?: Impersonation } {
  const as = textOf(user, 'as');
  const uid = textOf(user, 'as-uid');
  const groups = Array.isArray(user['as-groups']) ? user['as-groups'].map(String) : [];
  const given = user['as-user-extra'];
  const extra =
    typeof given === 'object' && given !== null
      ? Object.entries(given).map(([key, values]) => [key, Array.isArray(values) ? values.map(String) : []] as const)
      : [];
  if (as !== undefined)
    return { impersonate: { user: as, groups, extra: Object.fromEntries(extra), ...(uid !== undefined && { uid }) } };
  if (uid !== undefined || groups.length > 0 || extra.length > 0)
    throw wrong(`requesting uid, groups or user-extra for ${name} without impersonating a user`);
  return {};
}

/** Removes undefined fields. */
function present<T extends Readonly<Record<string, string | undefined>>>(fields: T): { [Key in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: string;
  };
}
