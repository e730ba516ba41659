import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { IssuedToken, PodToken, PodTokens, TokenOrder, TokenSource } from '../../ports/tokens.ts';

const LONGEST_USE_MS = 24 * 3_600_000;
const LONGEST_JITTER_MS = 10_000;
/** The retry interval of a failed renewal. */
const RETRY_MS = 30_000;

/** A token as stored on disk. */
export interface KeptToken extends IssuedToken {
  readonly podUid: string;
  readonly lifeMs: number;
}

interface Held extends KeptToken {
  readonly refreshAtMs: number;
  /** Whether an earlier run of the agent requested the token. */
  readonly isLeft: boolean;
}

export interface ServiceAccountTokensOptions {
  readonly source: TokenSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Stores tokens across restarts of the agent; absent if they are not stored. */
  readonly folder?: { put(key: string, value: KeptToken): void; drop(key: string): void };
  /** The tokens that an earlier run stored. */
  readonly left?: ReadonlyMap<string, KeptToken>;
}

/**
 * Computes when a token is renewed: at 80 % of its lifetime or after 24 h, and up to 10 s earlier at random, so that a
 * node's tokens are not all requested at once (upstream: token_manager.go requiresRefresh).
 */
export function computeRefreshAtMs(expiresAtMs: number, lifeMs: number, chance: number): number {
  return Math.min(expiresAtMs - lifeMs + LONGEST_USE_MS, expiresAtMs - 0.2 * lifeMs) - chance * LONGEST_JITTER_MS;
}

/**
 * Supplies the tokens of this node's pods. A token is requested once, kept until its renewal, and dropped with its pod.
 * After a restart, stored tokens are used as if they had just been requested. A stored token that has expired is used
 * only while the API server is unavailable, because API servers accept pod tokens for longer than their stated
 * lifetime.
 */
export class ServiceAccountTokens implements PodTokens {
  readonly #options: ServiceAccountTokensOptions;
  readonly #held = new Map<string, Held>();
  readonly #asking = new Map<string, Promise<Held>>();

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options;
    for (const [key, kept] of options.left ?? [])
      this.#held.set(key, {
        ...kept,
        refreshAtMs: computeRefreshAtMs(kept.expiresAtMs, kept.lifeMs, options.random.next()),
        isLeft: true,
      });
  }

  async get(order: TokenOrder): Promise<PodToken> {
    const key = keyOf(order);
    const held = this.#held.get(key);
    const nowMs = this.#options.clock.nowMs();
    if (held !== undefined && nowMs < held.refreshAtMs) return answer(held, held.refreshAtMs - nowMs);
    try {
      const fresh = await this.#ask(key, order);
      return answer(fresh, Math.max(fresh.refreshAtMs - this.#options.clock.nowMs(), RETRY_MS));
    } catch (error) {
      return this.#without({ key, held, nowMs, error });
    }
  }

  /** Returns the old token if it is still usable. */
  #without({
    key,
    held,
    nowMs,
    error,
  }: {
    key: string;
    held: Held | undefined;
    nowMs: number;
    error: unknown;
  }): PodToken {
    const fail = (message: string): KubeletError =>
      new KubeletError('Unavailable', `${message}: ${errorMessage(error)}`, { op: 'request token', cause: error });
    if (held === undefined) throw fail('failed to fetch token');
    const isOver = nowMs >= held.expiresAtMs;
    if (isOver && !(held.isLeft && isKind(error, 'Unavailable'))) throw fail(`token ${key} expired and refresh failed`);
    this.#options.log.warn(
      isOver
        ? 'a service account token of an earlier run has expired and cannot be renewed; it is used because there is no other'
        : 'a service account token could not be renewed; the old one is still valid',
      { podUID: held.podUid, error: errorMessage(error) },
    );
    return answer(held, isOver ? RETRY_MS : Math.min(RETRY_MS, held.expiresAtMs - nowMs));
  }

  forget(podUid: string): void {
    for (const [key, held] of this.#held) if (held.podUid === podUid) this.#drop(key);
  }

  /** Drops the tokens of other pods. It is called when all wanted pods are known. */
  retain(known: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [key, { podUid }] of this.#held) if (!known.has(podUid)) this.#drop(key);
  }

  #drop(key: string): void {
    this.#held.delete(key);
    this.#options.folder?.drop(key);
  }

  /** Requests a token. Concurrent requests for the same token share one call. */
  #ask(key: string, order: TokenOrder): Promise<Held> {
    const under = this.#asking.get(key);
    if (under !== undefined) return under;
    const asking = this.#request(key, order).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #request(key: string, order: TokenOrder): Promise<Held> {
    const { source, random, folder } = this.#options;
    const { token, expiresAtMs } = await source.request(order);
    const kept: KeptToken = { token, expiresAtMs, podUid: order.pod.uid, lifeMs: order.expirationSeconds * 1000 };
    const fresh = { ...kept, refreshAtMs: computeRefreshAtMs(expiresAtMs, kept.lifeMs, random.next()), isLeft: false };
    this.#held.set(key, fresh);
    folder?.put(key, kept);
    return fresh;
  }
}

const answer = ({ token, expiresAtMs }: Held, againInMs: number): PodToken => ({ token, expiresAtMs, againInMs });

/** Returns the key of a token. It contains no secret, because it may be part of an error. */
function keyOf(order: TokenOrder): string {
  const { namespace, serviceAccount, serviceAccountUid, audiences, expirationSeconds, pod } = order;
  const account = serviceAccountUid === undefined ? [] : [serviceAccountUid];
  return JSON.stringify([serviceAccount, namespace, audiences, expirationSeconds, pod.name, pod.uid, ...account]);
}

export function isKeptToken(value: unknown): value is KeptToken {
  if (typeof value !== 'object' || value === null) return false;
  const { token, expiresAtMs, podUid, lifeMs } = value as Partial<Record<keyof KeptToken, unknown>>;
  return (
    typeof token === 'string' && typeof podUid === 'string' && Number.isFinite(expiresAtMs) && Number.isFinite(lifeMs)
  );
}
