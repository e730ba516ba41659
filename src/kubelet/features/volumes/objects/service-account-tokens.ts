import type { Clock } from '../../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { Random } from '../../../../base/random.ts';
import type { IssuedToken, TokenOrder, TokenSource } from '../../../ports/tokens.ts';

const LONGEST_USE_MS = 24 * 3_600_000;
const LONGEST_JITTER_MS = 10_000;
/** How soon a refresh that failed is tried again. */
const RETRY_MS = 30_000;

interface Kept extends IssuedToken {
  podUid: string;
  refreshAtMs: number;
}

/**
 * When a token is replaced: at 80 % of its life or after 24 h, up to 10 s earlier by chance, so that a node's tokens are not all asked for at once
 * (upstream: token_manager.go requiresRefresh).
 */
export function computeRefreshAtMs(expiresAtMs: number, lifeMs: number, chance: number): number {
  return Math.min(expiresAtMs - lifeMs + LONGEST_USE_MS, expiresAtMs - 0.2 * lifeMs) - chance * LONGEST_JITTER_MS;
}

/** The tokens of this node's pods: asked for once and kept in memory until it is time for a new one. */
export class ServiceAccountTokens {
  readonly #options: { source: TokenSource; clock: Clock; random: Random; log: Logger };
  readonly #kept = new Map<string, Kept>();

  constructor(options: { source: TokenSource; clock: Clock; random: Random; log: Logger }) {
    this.#options = options;
  }

  /** A valid token, and after how long to ask again. An old one that still holds is given when no new one is to be had. */
  async get(order: TokenOrder): Promise<{ token: string; againInMs: number }> {
    const { source, clock, random, log } = this.#options;
    const key = keyOf(order);
    const kept = this.#kept.get(key);
    const nowMs = clock.nowMs();
    if (kept !== undefined && nowMs < kept.refreshAtMs) return { token: kept.token, againInMs: kept.refreshAtMs - nowMs };
    try {
      const issued = await source.request(order);
      const fresh = { ...issued, podUid: order.pod.uid, refreshAtMs: computeRefreshAtMs(issued.expiresAtMs, order.expirationSeconds * 1000, random.next()) };
      this.#kept.set(key, fresh);
      return { token: fresh.token, againInMs: Math.max(fresh.refreshAtMs - clock.nowMs(), RETRY_MS) };
    } catch (error) {
      if (kept === undefined) throw new KubeletError('Unavailable', `failed to fetch token: ${errorMessage(error)}`, { op: 'request token', cause: error });
      if (nowMs >= kept.expiresAtMs) throw new KubeletError('Unavailable', `token ${key} expired and refresh failed: ${errorMessage(error)}`, { op: 'request token', cause: error });
      log.warn('a service account token could not be renewed; the old one still holds', { podUID: order.pod.uid, error: errorMessage(error) });
      return { token: kept.token, againInMs: Math.min(RETRY_MS, kept.expiresAtMs - nowMs) };
    }
  }

  /** The pod is gone, and its tokens with it. */
  forget(podUid: string): void {
    for (const [key, kept] of this.#kept) if (kept.podUid === podUid) this.#kept.delete(key);
  }
}

/** Nothing secret: it may stand in an error. */
function keyOf({ namespace, serviceAccount, audiences, expirationSeconds, pod }: TokenOrder): string {
  return JSON.stringify([serviceAccount, namespace, audiences, expirationSeconds, pod.name, pod.uid]);
}
