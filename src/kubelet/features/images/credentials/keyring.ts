import { createHash } from 'node:crypto';
import { goJson } from '../../../../api/go-json.ts';
import type { DockerAuth, DockerConfig } from './docker-config.ts';
import { matchesImage } from './match-image.ts';

/** The Secret that contains the credentials. */
export interface SecretSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The service account for which a plugin returned credentials. */
export interface AccountSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Credentials and their source: a Secret of the pod, or its service account. Without a source they are the node's own,
 * which every pod on the node may use.
 */
export interface TrackedAuth extends DockerAuth {
  readonly hash: string;
  readonly source: SecretSource | undefined;
  readonly account?: AccountSource;
}

const DEFAULT_REGISTRY = 'index.docker.io';

/** Stores credentials by registry and path (upstream: credentialprovider/keyring.go BasicDockerKeyring). */
export class Keyring {
  readonly #credentials = new Map<string, TrackedAuth[]>();

  add(config: DockerConfig, source: SecretSource | undefined, account?: AccountSource): void {
    for (const [location, auth] of Object.entries(config)) {
      const key = keyOf(location);
      const known = this.#credentials.get(key) ?? [];
      this.#credentials.set(key, known);
      known.push({ ...auth, hash: hashAuth(auth), source, ...(account === undefined ? {} : { account }) });
    }
  }

  /** Returns all credentials that match the repository (`docker.io/library/x`), the most specific ones first. */
  lookup(repository: string): TrackedAuth[] {
    const keys = [...this.#credentials.keys()].sort().reverse();
    const found = keys
      .filter((key) => matchesImage(key, repository))
      .flatMap((key) => this.#credentials.get(key) ?? []);
    if (found.length > 0) return found;
    return isDefaultRegistry(repository) ? [...(this.#credentials.get(DEFAULT_REGISTRY) ?? [])] : [];
  }
}

/** Returns the key of a location: `https://host/v1/team` and `host/team` have the same one. */
function keyOf(location: string): string {
  const bare = location.replace(/^https?:\/\//, '');
  const slash = bare.indexOf('/');
  if (slash === -1) return bare;
  const path = bare.slice(slash);
  const effective = /^\/v[12]\//.test(path) ? path.slice(3) : path;
  return effective === '/' ? bare.slice(0, slash) : bare.slice(0, slash) + effective;
}

function isDefaultRegistry(repository: string): boolean {
  const slash = repository.indexOf('/');
  if (slash === -1) return repository !== '';
  const first = repository.slice(0, slash);
  return first === 'docker.io' || first === DEFAULT_REGISTRY || (first !== '' && !/[.:]/.test(first));
}

/**
 * Returns the digest of upstream's pull records, the SHA-256 of Go's JSON, so that the records stay valid when one
 * agent replaces the other.
 */
export function hashAuth(auth: DockerAuth): string {
  const fields = {
    ...(auth.username === '' ? {} : { username: auth.username }),
    ...(auth.password === '' ? {} : { password: auth.password }),
  };
  return createHash('sha256').update(goJson(fields)).digest('hex');
}
