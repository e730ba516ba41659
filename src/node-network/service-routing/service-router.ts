/**
 * Does the work of kube-proxy: updates the node's packet filter when services or their endpoints change. Invariants:
 * 1. The first write waits for the lists of services and slices, because an incomplete view would break connections.
 * 2. A change is written within milliseconds. Changes during a write are part of the next one. Writes are at least
 *    `gapMs` apart.
 * 3. After a failed write the kernel's state is unknown, and the next one writes everything.
 * 4. A check every 10 s, or less often with many rules, detects a flush by another program.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createSettlingLoop } from '../../base/settling-loop.ts';
import type { Informers } from '../../api/client/informer.ts';
import { services } from '../../api/client/resource-types.ts';
import type { ServiceRoute } from './compute-routes.ts';
import { byNameAndProtocol } from './compute-routes.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import type { SlicesOf } from './follow-services.ts';
import { followServices, slicesByService } from './follow-services.ts';
import type { PacketFilter } from './packet-filter.ts';
import type { PresentRules, TableChange } from './restore-text.ts';
import { changesSince, computeChanges, isWhole, parsePresent } from './restore-text.ts';
import { isReserved } from './route-rules.ts';
import { RouteCache } from './route-cache.ts';
import type { RulesFacts } from './rules-facts.ts';
import type { Ruleset } from './ruleset.ts';
import { splitRestore } from './split-restore.ts';
import type { FlowTable } from './stale-flows.ts';
import { nodeLoadBalancer, RulesetRenderer } from './ruleset.ts';

export interface ServiceRouterOptions {
  readonly informers: Informers;
  readonly filter: PacketFilter;
  /** The tracked UDP flows; if absent, they are not deleted. */
  readonly flows?: FlowTable | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** The zone of the node, if it has one. */
  readonly zone?: string | undefined;
  readonly facts: RulesFacts;
}

const GAP_MS = 30;
const CHECK_MS = 10_000;
/**
 * The minimum time between two checks, as a multiple of the duration of a check. With many services `iptables-save`
 * takes a second.
 */
const CHECK_SHARE = 50;
const RETRY_MS = 1000;

export interface ServiceRouter {
  start(): void;
  /** Resolves when the first complete set of rules is in the kernel. */
  whenRouted(): Promise<void>;
  /** Whether the last write succeeded. */
  isHealthy(): boolean;
  /** Stops, and leaves the rules in the kernel, so that traffic continues. */
  stop(): Promise<void>;
}

export function createServiceRouter(options: ServiceRouterOptions): ServiceRouter {
  const { informers, clock } = options;
  const writer = new RulesWriting(options);
  const loop = createSettlingLoop({
    ...options,
    name: 'service-routing',
    checkMs: CHECK_MS,
    retryMs: RETRY_MS,
    failure: 'unable to write the rules of services',
    gatherMs: () => Math.max(0, writer.earliestMs - clock.monotonicMs()),
    settle: () => writer.settle(),
  });
  let unfollow = (): void => undefined;
  return {
    start: () => {
      unfollow = followServices(informers, loop.wake);
      loop.start();
    },
    whenRouted: loop.whenSettled,
    isHealthy: loop.isSettled,
    stop: async () => {
      unfollow();
      await loop.stop();
    },
  };
}

/** A router for several IP families, each with its own packet filter. */
export function joinRouters(routers: readonly ServiceRouter[]): ServiceRouter {
  return {
    start: () => routers.forEach((router) => router.start()),
    whenRouted: async () => void (await Promise.all(routers.map((router) => router.whenRouted()))),
    isHealthy: () => routers.every((router) => router.isHealthy()),
    stop: async () => void (await Promise.all(routers.map((router) => router.stop()))),
  };
}

class RulesWriting {
  /** The monotonic time of the earliest next write. */
  earliestMs = -Infinity;
  readonly #options: ServiceRouterOptions;
  readonly #slicesOf: SlicesOf;
  #cleaner: FlowCleaner | undefined;
  readonly #routes = new RouteCache();
  readonly #renderer: RulesetRenderer;
  /** The rules in the kernel; undefined if unknown. */
  #applied: Ruleset | undefined;
  /** The monotonic time of the next check. */
  #checkMs = -Infinity;
  #refusedClaims: ReadonlySet<string> = new Set();

  constructor(options: ServiceRouterOptions) {
    this.#options = options;
    if (options.flows !== undefined)
      this.#cleaner = new FlowCleaner(options.flows, options.facts.family === 'IPv6' ? 'ipv6' : 'ipv4', options.log);
    this.#slicesOf = slicesByService(options.informers);
    this.#renderer = new RulesetRenderer(options.facts);
  }

  async settle(): Promise<boolean> {
    const { informers, clock, facts, nodeName, zone } = this.#options;
    if (!informers.hasSynced()) return false;
    try {
      const place = { nodeName, zone, family: facts.family };
      const list = informers.for(services).list();
      // They are sorted, so the rules do not depend on the order of the services.
      const routes = this.#routes.compute(list, this.#slicesOf, place, nodeLoadBalancer(facts)).sort(byNameAndProtocol);
      this.#warnOfReserved(routes);
      const wanted = this.#renderer.render(routes);
      // A change does not wait for a check.
      if (this.#applied !== undefined) await this.#write(wanted, changesSince(this.#applied, wanted));
      if (clock.monotonicMs() >= this.#checkMs) {
        const present = await this.#readKernel();
        if (this.#applied === undefined) await this.#write(wanted, computeChanges(wanted, present));
      }
      await this.#cleaner?.clean(routes);
      return true;
    } finally {
      this.earliestMs = clock.monotonicMs() + GAP_MS;
    }
  }

  async #write(wanted: Ruleset, changes: readonly TableChange[]): Promise<void> {
    const checkMs = this.#checkMs;
    // The state is unknown until everything is in the kernel. After a failure the next pass reads it.
    [this.#applied, this.#checkMs] = [undefined, -Infinity];
    for (const part of splitRestore(changes)) await this.#options.filter.apply(part);
    [this.#applied, this.#checkMs] = [wanted, checkMs];
  }

  /** Logs each address that a service claims but does not get, once per claim. */
  #warnOfReserved(routes: readonly ServiceRoute[]): void {
    const { facts, log } = this.#options;
    const claims = new Set(
      routes.flatMap(({ name, externalIps }) =>
        externalIps.filter((each) => isReserved(each, facts)).map(({ ip }) => `${name} ${ip}`),
      ),
    );
    for (const claim of claims)
      if (!this.#refusedClaims.has(claim))
        log.warn('ignoring an external address of a service that belongs to the cluster', { claim });
    this.#refusedClaims = claims;
  }

  /** Reads the state of the kernel. If it differs from the last write, the next write contains everything. */
  async #readKernel(): Promise<PresentRules> {
    const { filter, clock, log, facts } = this.#options;
    const startMs = clock.monotonicMs();
    const present = parsePresent(await filter.read(), facts.chainPrefix);
    const nowMs = clock.monotonicMs();
    this.#checkMs = nowMs + Math.max(CHECK_MS, (nowMs - startMs) * CHECK_SHARE);
    if (this.#applied !== undefined && !isWhole(this.#applied, present)) {
      log.warn('another program changed the rules of services; writing them again');
      this.#applied = undefined;
    }
    return present;
  }
}
