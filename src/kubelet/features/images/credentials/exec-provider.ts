import { isRecord } from '../../../../base/json-record.ts';
import { parseDurationMs } from '../../../../api/duration.ts';
import { BoundedMap } from '../../../../base/bounded-map.ts';
import type { Clock } from '../../../../base/clock.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { Processes } from '../../../ports/processes.ts';
import type { AccountRequest } from './account-tokens.ts';
import type { DockerAuth, DockerConfig } from './docker-config.ts';
import { matchesImage } from './match-image.ts';
import type { CredentialProvider } from './provider-config.ts';
import type { TokenAttributes } from './token-attributes.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_LIMIT_BYTES = 1024 * 1024;
const PURGE_MS = 15 * 60_000;
const GLOBAL_KEY = '<global>';
/**
 * The limit of cached answers. Pods choose the image names, which are keys, and an answer may have its maximum length.
 */
const MOST_KEPT = 200;
/** The maximum time that an answer is cached. */
const LONGEST_KEPT_MS = 7 * 24 * 3600_000;

interface Cached {
  readonly config: DockerConfig;
  /** A monotonic time. */
  readonly untilMs: number;
}

/**
 * Runs one credential provider plugin (upstream: credentialprovider/plugin/plugin.go): a program that gets a
 * CredentialProviderRequest on stdin and answers with a CredentialProviderResponse on stdout. There is one call at a
 * time per image. The answer is cached with the key type and the duration that it contains.
 */
export class ExecCredentialProvider {
  readonly #provider: CredentialProvider;
  readonly #binDir: string;
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #cache = new BoundedMap<string, Cached>(MOST_KEPT);
  readonly #asking = new Map<string, Promise<DockerConfig>>();
  #purgedAtMs: number;

  constructor(provider: CredentialProvider, parts: { binDir: string; processes: Processes; clock: Clock }) {
    this.#provider = provider;
    this.#binDir = parts.binDir;
    this.#processes = parts.processes;
    this.#clock = parts.clock;
    this.#purgedAtMs = parts.clock.monotonicMs();
  }

  get name(): string {
    return this.#provider.name;
  }

  /** The token of the pod's service account that the plugin gets; undefined for none. */
  get tokens(): TokenAttributes | undefined {
    return this.#provider.tokens;
  }

  get cacheSize(): number {
    return this.#cache.size;
  }

  matches(repository: string): boolean {
    return this.#provider.matchImages.some((pattern) => matchesImage(pattern, repository));
  }

  /**
   * Returns the credentials for an image; none if the plugin does not match it. Rejects if the plugin fails, with a
   * message without credentials. Answers for a service account are cached for that account only.
   */
  async provide(repository: string, account?: AccountRequest): Promise<DockerConfig> {
    if (!this.matches(repository)) return {};
    this.#purge();
    for (const key of [repository, registryOf(repository), GLOBAL_KEY]) {
      const cached = this.#cache.get(cacheKey(key, account));
      if (cached !== undefined && cached.untilMs >= this.#clock.monotonicMs()) return cached.config;
    }
    const together = cacheKey(repository, account, account?.token);
    let asking = this.#asking.get(together);
    if (asking === undefined) {
      asking = this.#ask(repository, account).finally(() => this.#asking.delete(together));
      this.#asking.set(together, asking);
    }
    return asking;
  }

  async #ask(repository: string, account: AccountRequest | undefined): Promise<DockerConfig> {
    const { name, args, env, apiVersion } = this.#provider;
    const failed = (why: string): KubeletError =>
      new KubeletError('Unavailable', `credential provider plugin ${name} for image ${repository}: ${why}`, {
        op: 'credential provider',
      });
    const stdin = JSON.stringify({
      kind: 'CredentialProviderRequest',
      apiVersion,
      image: repository,
      ...(account === undefined ? {} : serviceAccountOf(account)),
    });
    const result = await this.#processes.run(`${this.#binDir}/${name}`, args, {
      stdin,
      env,
      timeoutMs: TIMEOUT_MS,
      outputLimitBytes: OUTPUT_LIMIT_BYTES,
    });
    if (result.exitCode !== 0)
      throw failed(`exit code ${result.exitCode}: ${redact(result.stderr, secretsOf(env, account))}`);
    let response: unknown;
    try {
      response = JSON.parse(result.stdout);
    } catch {
      throw failed('its answer is not valid JSON');
    }
    if (!isRecord(response) || response.kind !== 'CredentialProviderResponse')
      throw failed('its answer is not a CredentialProviderResponse');
    if (response.apiVersion !== apiVersion)
      throw failed(`apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}`);
    const config = authsOf(response.auth);
    if (config === undefined) throw failed('its answer has an "auth" that is not a map of username and password');
    if (account !== undefined && !account.mayEchoToken && hasPassword(config, account.token))
      throw failed(
        "it returned the service account token as the password, which is not allowed when service account cache type is not set to 'Token'",
      );
    this.#keep({ repository, account, response, config }, failed);
    return config;
  }

  #keep({ repository, account, response, config }: Answer, failed: (why: string) => KubeletError): void {
    const key =
      response.cacheKeyType === 'Image'
        ? repository
        : response.cacheKeyType === 'Registry'
          ? registryOf(repository)
          : response.cacheKeyType === 'Global'
            ? GLOBAL_KEY
            : undefined;
    if (key === undefined)
      throw failed('credential provider plugin did not return a valid cacheKeyType: one of Image, Registry, Global');
    const given = typeof response.cacheDuration === 'string' ? parseDurationMs(response.cacheDuration) : undefined;
    const keepMs = given ?? this.#provider.defaultCacheMs;
    if (keepMs > 0)
      this.#cache.set(cacheKey(key, account), {
        config,
        untilMs: this.#clock.monotonicMs() + Math.min(keepMs, LONGEST_KEPT_MS),
      });
  }

  #purge(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#purgedAtMs < PURGE_MS) return;
    this.#purgedAtMs = nowMs;
    for (const [key, { untilMs }] of [...this.#cache.entries()]) if (untilMs < nowMs) this.#cache.delete(key);
  }
}

interface Answer {
  readonly repository: string;
  readonly account: AccountRequest | undefined;
  readonly response: Record<string, unknown>;
  readonly config: DockerConfig;
}

/** Builds a cache key. The parts are separated by NUL, which image names do not contain. */
function cacheKey(key: string, account: AccountRequest | undefined, ...more: (string | undefined)[]): string {
  return account === undefined ? key : [key, account.cacheKey, ...more].join('\0');
}

const serviceAccountOf = ({ token, annotations }: AccountRequest): Record<string, unknown> => ({
  serviceAccountToken: token,
  ...(Object.keys(annotations).length > 0 ? { serviceAccountAnnotations: annotations } : {}),
});

const secretsOf = (env: Readonly<Record<string, string>>, account: AccountRequest | undefined): string[] => [
  ...Object.values(env),
  ...(account === undefined ? [] : [account.token]),
];

const hasPassword = (config: DockerConfig, password: string): boolean =>
  Object.values(config).some((auth) => auth.password === password);

function registryOf(repository: string): string {
  return repository.split('/')[0] ?? repository;
}

function authsOf(auth: unknown): DockerConfig | undefined {
  if (auth === undefined || auth === null) return {};
  if (!isRecord(auth)) return undefined;
  const found: [place: string, auth: DockerAuth][] = [];
  for (const [place, entry] of Object.entries(auth)) {
    if (!isRecord(entry) || typeof (entry.username ?? '') !== 'string' || typeof (entry.password ?? '') !== 'string')
      return undefined;
    found.push([
      place,
      {
        username: (entry.username as string | undefined) ?? '',
        password: (entry.password as string | undefined) ?? '',
      },
    ]);
  }
  // Object.fromEntries defines an own property even if the registry is called `__proto__`.
  return Object.fromEntries(found);
}

/** Reduces a plugin's error output to one line, without its input and without anything that resembles a credential. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let line = text.trim().split('\n')[0] ?? '';
  for (const secret of secrets) if (secret.length >= 4) line = line.replaceAll(secret, '[redacted]');
  return line
    .replace(
      /((?:password|passwd|token|secret|authorization|auth|key)["']?\s*[=:]\s*)(?:(?:basic|bearer)\s+)?\S+/gi,
      '$1[redacted]',
    )
    .replace(/[A-Za-z0-9+/_=-]{32,}/g, '[redacted]')
    .slice(0, 300);
}
