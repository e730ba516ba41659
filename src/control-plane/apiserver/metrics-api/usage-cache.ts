import type { Node } from '../../../api/core/node.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { NodeUsage } from './compute-usage.ts';
import { computeNodeUsage } from './compute-usage.ts';
import type { NodePoints } from './parse-resource-metrics.ts';
import { parseResourceMetrics } from './parse-resource-metrics.ts';

export interface UsageCacheOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads a kubelet's /metrics/resource. */
  readonly scrape: (node: Node) => Promise<string>;
}

interface Kept {
  readonly usage: NodeUsage;
  readonly points: NodePoints;
  readonly scrapedAtMs: number;
}

/** The maximum age of a result, as in metrics-server's --metric-resolution. */
const RESOLUTION_MS = 15_000;
/** The maximum age of the earlier reading of a rate. Otherwise a second reading is taken now. */
const LONGEST_WINDOW_MS = 60_000;
const SECOND_LOOK_MS = 1000;
const MOST_NODES = 10_000;

/**
 * Caches the usage of nodes and pods, which is read from their kubelets on request. Without a recent reading, two
 * readings are taken one second apart; afterwards a result is at most 15 s old. Nodes that do not respond are missing.
 */
export class UsageCache {
  readonly #options: UsageCacheOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<NodeUsage | undefined>>();

  constructor(options: UsageCacheOptions) {
    this.#options = options;
  }

  /** Returns the usage of a node, or undefined if there is no data now. */
  usage(node: Node): Promise<NodeUsage | undefined> {
    const { name } = node.metadata;
    const kept = this.#kept.get(name);
    if (kept !== undefined && this.#options.clock.monotonicMs() - kept.scrapedAtMs < RESOLUTION_MS)
      return Promise.resolve(kept.usage);
    const running = this.#running.get(name) ?? this.#look(node, kept).finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return running;
  }

  async #look(node: Node, kept: Kept | undefined): Promise<NodeUsage | undefined> {
    const { clock, log } = this.#options;
    try {
      const isRecent = kept !== undefined && clock.monotonicMs() - kept.scrapedAtMs < LONGEST_WINDOW_MS;
      const before = isRecent ? kept.points : await this.#scrape(node);
      if (!isRecent) await sleep(clock, SECOND_LOOK_MS);
      const points = await this.#scrape(node);
      const usage = computeNodeUsage(before, points);
      if (this.#kept.size >= MOST_NODES) this.#kept.clear();
      this.#kept.set(node.metadata.name, { usage, points, scrapedAtMs: clock.monotonicMs() });
      return usage;
    } catch (error) {
      this.#kept.delete(node.metadata.name);
      log.warn('unable to read resource usage from a kubelet', {
        node: node.metadata.name,
        error: errorMessage(error),
      });
      return undefined;
    }
  }

  async #scrape(node: Node): Promise<NodePoints> {
    return parseResourceMetrics(await this.#options.scrape(node), this.#options.clock.nowMs());
  }
}
