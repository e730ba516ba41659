/**
 * The work of kube-proxy: keeps the node's packet filter in step with services and their endpoints.
 * 1. The first write waits for the lists of services and slices: an incomplete view would break connections.
 * 2. A change is written within milliseconds. Changes during a write are in the next one. Writes are at least `gapMs`
 *    apart.
 * 3. After a failed write the kernel's state is unknown: the next one writes everything.
 * 4. A check every `checkMs` detects a flush by another program.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createSettlingLoop } from '../../base/settling-loop.ts';
import type { Informers } from '../../api/client/informer.ts';
import { services } from '../../api/client/resource-types.ts';
import type { ServiceRoute } from './compute-routes.ts';
import { computeRoutes } from './compute-routes.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import type { SlicesOf } from './follow-services.ts';
import { followServices, slicesByService } from './follow-services.ts';
import type { PacketFilter } from './packet-filter.ts';
import type { PresentRules } from './restore-text.ts';
import { computeRestore, isWhole, parsePresent, presentAfter } from './restore-text.ts';
import type { Ruleset, RulesFacts } from './ruleset.ts';
import { splitRestore } from './split-restore.ts';
import type { FlowTable } from './stale-flows.ts';
import { isReserved, nodeLoadBalancer, renderRuleset } from './ruleset.ts';

export interface ServiceRouterOptions {
  readonly informers: Informers;
  readonly filter: PacketFilter;
  /** Of UDP; absent: they stay. */
  readonly flows?: FlowTable | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** Of the node, if it has one. */
  readonly zone?: string | undefined;
  readonly facts: RulesFacts;
}

const GAP_MS = 30;
const CHECK_MS = 10_000;
const RETRY_MS = 1000;

export interface ServiceRouter {
  start(): void;
  /** Resolves when the first whole set of rules is in the kernel. */
  whenRouted(): Promise<void>;
  /** Whether the last writing succeeded. */
  isHealthy(): boolean;
  /** Leaves the rules in the kernel, so that traffic continues. */
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
  /** Monotonic time of the earliest next write. */
  earliestMs = -Infinity;
  readonly #options: ServiceRouterOptions;
  readonly #slicesOf: SlicesOf;
  #cleaner: FlowCleaner | undefined;
  #applied: Ruleset | undefined;
  #checkedMs = -Infinity;
  #refusedClaims: ReadonlySet<string> = new Set();

  constructor(options: ServiceRouterOptions) {
    this.#options = options;
    if (options.flows !== undefined)
      this.#cleaner = new FlowCleaner(options.flows, options.facts.family === 'IPv6' ? 'ipv6' : 'ipv4', options.log);
    this.#slicesOf = slicesByService(options.informers);
  }

  async settle(): Promise<boolean> {
    const { informers, filter, clock, facts, nodeName, zone } = this.#options;
    if (!informers.hasSynced()) return false;
    try {
      const isDue = this.#applied === undefined || clock.monotonicMs() - this.#checkedMs >= CHECK_MS;
      const present = isDue ? await this.#readKernel() : undefined;
      const routes = computeRoutes(informers.for(services).list(), this.#slicesOf, {
        nodeName,
        zone,
        family: facts.family,
        balancer: nodeLoadBalancer(facts),
      });
      this.#warnOfReserved(routes);
      const wanted = renderRuleset(routes, facts);
      const text = computeRestore(wanted, present ?? presentAfter(this.#applied ?? wanted), this.#applied);
      // Unknown until all of it is in the kernel.
      this.#applied = undefined;
      for (const part of text === undefined ? [] : splitRestore(text)) await filter.apply(part);
      this.#applied = wanted;
      await this.#cleaner?.clean(routes);
      return true;
    } finally {
      this.earliestMs = clock.monotonicMs() + GAP_MS;
    }
  }

  /** Logs each address that a service claims but does not get, once for as long as it claims it. */
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

  /** The state of the kernel. If it differs from the last write, the next write contains everything. */
  async #readKernel(): Promise<PresentRules> {
    const { filter, clock, log, facts } = this.#options;
    const present = parsePresent(await filter.read(), facts.chainPrefix);
    this.#checkedMs = clock.monotonicMs();
    if (this.#applied !== undefined && !isWhole(this.#applied, present)) {
      log.warn('another program changed the rules of services; writing them again');
      this.#applied = undefined;
    }
    return present;
  }
}
