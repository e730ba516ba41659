import { isRecord } from '../../../../base/json-record.ts';
import { Buffer } from 'node:buffer';

export interface DockerAuth {
  readonly username: string;
  readonly password: string;
}

/** Credentials by registry. The key is a registry, with or without scheme and path. */
export type DockerConfig = Readonly<Record<string, DockerAuth>>;

/** The credentials, and the problems by registry. Problems never quote the content. */
export interface ParsedDockerConfig {
  readonly config: DockerConfig;
  readonly problems: readonly string[];
}

/**
 * Parses `~/.docker/config.json` (`{"auths": {...}}`) or, with `legacy`, `~/.dockercfg` (the map itself). An invalid
 * entry is skipped and reported, and the others are used. Error texts never quote the content, unlike those of
 * JSON.parse.
 */
export function parseDockerConfig(text: string, legacy: boolean): ParsedDockerConfig {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { config: {}, problems: ['is not valid JSON'] };
  }
  const auths = legacy ? parsed : isRecord(parsed) ? (parsed.auths ?? {}) : undefined;
  if (!isRecord(auths))
    return { config: {}, problems: [legacy ? 'is not a map of registries' : '"auths" is not a map of registries'] };
  const config: Record<string, DockerAuth> = {};
  const problems: string[] = [];
  for (const [registry, entry] of Object.entries(auths)) {
    const auth = isRecord(entry) ? readEntry(entry) : 'is not an object';
    if (typeof auth === 'string') problems.push(`entry ${JSON.stringify(registry)} ${auth}`);
    else Object.defineProperty(config, registry, { value: auth, enumerable: true });
  }
  return { config, problems };
}

/**
 * Reads an entry. `auth`, the base64 of `username:password`, has precedence over the two fields (upstream:
 * credentialprovider/config.go).
 */
function readEntry(entry: Record<string, unknown>): DockerAuth | string {
  const { username = '', password = '', auth = '' } = entry;
  if (typeof username !== 'string' || typeof password !== 'string' || typeof auth !== 'string')
    return 'has a field that is not text';
  if (auth === '') return { username, password };
  const decoded = Buffer.from(auth.trim(), 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0 || !/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/.test(auth))
    return 'has an "auth" that is not base64 of username:password';
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}
