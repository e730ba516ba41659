import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json-record.ts';
import type { Logger } from '../../../base/log.ts';
import type { HttpJsonAnswer } from '../webhook/http-json.ts';

/** The minimum time between two requests to the provider, so that tokens with invented key ids cannot cause more. */
const ASK_AGAIN_MS = 10_000;

export interface ProviderOptions {
  readonly issuerUrl: string;
  /** The URL of the discovery document, if it is not at the default path below the issuer's URL. */
  readonly discoveryUrl?: string;
  /** Makes a GET request with a time limit. */
  readonly fetchJson: (url: string) => Promise<HttpJsonAnswer>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after each try to fetch the keys; undefined means that it failed. */
  readonly onFetched?: (keys: unknown) => void;
}

export interface KeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** The keys of one issuer. One request runs at a time, and the last valid answer stays in use. */
export class ProviderKeys {
  readonly #options: ProviderOptions;
  #set: KeySet | undefined;
  #askedMs: number | undefined;
  #asking: Promise<void> | undefined;
  #error = 'not initialized';

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** Fetches the keys for the first time. Rejects with `Unavailable` if there are none. */
  async prepare(): Promise<void> {
    await this.forKey(undefined);
  }

  async forKey(kid: string | undefined): Promise<KeySet> {
    if (!this.#has(kid) && this.#mayAsk()) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
    }
    if (!this.#has(kid)) await this.#asking;
    if (this.#set === undefined)
      throw new KubeletError(
        'Unavailable',
        `authenticator for issuer ${JSON.stringify(this.#options.issuerUrl)}: ${this.#error}`,
      );
    return this.#set;
  }

  #has(kid: string | undefined): boolean {
    return this.#set !== undefined && (kid === undefined || this.#set.keys.some((key) => key['kid'] === kid));
  }

  #mayAsk(): boolean {
    return (
      this.#asking === undefined &&
      (this.#askedMs === undefined || this.#options.clock.monotonicMs() - this.#askedMs >= ASK_AGAIN_MS)
    );
  }

  async #ask(): Promise<void> {
    const { issuerUrl, clock, log, onFetched } = this.#options;
    this.#askedMs = clock.monotonicMs();
    try {
      const set = await this.#fetchKeys();
      this.#set = set;
      onFetched?.(set);
    } catch (error) {
      this.#error = errorMessage(error);
      onFetched?.(undefined);
      log.error('unable to fetch the keys of an OpenID Connect provider', { issuer: issuerUrl, error: this.#error });
    }
  }

  async #fetchKeys(): Promise<KeySet> {
    const { issuerUrl, discoveryUrl, fetchJson } = this.#options;
    const found = record(
      (await expectOk(fetchJson, discoveryUrl ?? `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`))
        .body,
    );
    if (found['issuer'] !== issuerUrl)
      throw new KubeletError(
        'Invalid',
        `the discovery document of the provider names the issuer ${JSON.stringify(found['issuer'])}`,
      );
    const address = found['jwks_uri'];
    if (typeof address !== 'string' || !address.startsWith('https://'))
      throw new KubeletError('Invalid', 'the discovery document of the provider has no https jwks_uri');
    const { keys } = record((await expectOk(fetchJson, address)).body);
    if (!Array.isArray(keys)) throw new KubeletError('Invalid', 'the keys of the provider are not a list');
    return { keys: keys.map(record) };
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

async function expectOk(fetchJson: ProviderOptions['fetchJson'], url: string): Promise<HttpJsonAnswer> {
  const answer = await fetchJson(url);
  if (answer.status !== 200) throw new KubeletError('Unavailable', `${url} answered ${answer.status}`);
  return answer;
}
