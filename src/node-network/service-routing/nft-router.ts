/**
 * Service routing with nftables: one table for each IP family. One transaction writes all changes.
 * Otherwise the same as the router with iptables (`service-router.ts`).
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createSettlingLoop } from '../../base/settling-loop.ts';
import { Pace } from '../../base/turn.ts';
import type { Informers } from '../../api/client/informer.ts';
import { services } from '../../api/client/resource-types.ts';
import { CHECK_MS, TableWriter } from '../nftables/table-writer.ts';
import type { Nft } from '../nftables/nft-port.ts';
import type { NftServiceFacts } from './nft-base.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import { followServices, slicesByService } from './follow-services.ts';
import { NftServices } from './nft-services.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';
import { RouteCache } from './route-cache.ts';
import type { ServiceRouter } from './service-router.ts';
import type { FlowTable } from './stale-flows.ts';

export interface NftRouterOptions {
  readonly informers: Informers;
  readonly nft: Nft;
  /** The tracked UDP flows; if absent, they are not deleted. */
  readonly flows?: FlowTable | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** The zone of the node, if it has one. */
  readonly zone?: string | undefined;
  readonly tableName: string;
  /** The settings, one entry per family. */
  readonly facts: readonly NftServiceFacts[];
  readonly balancer?: NodeLoadBalancer | undefined;
}

const RETRY_MS = 1000;
export const serviceTable = (prefix: string): string => `${prefix}-services`;

export function createNftRouter(options: NftRouterOptions): ServiceRouter {
  const { informers, clock, log, nodeName, zone, tableName, balancer } = options;
  const families = options.facts.map((facts) => {
    const table = new NftServices(tableName, facts);
    const { flows } = options;
    const cleaner =
      flows === undefined ? undefined : new FlowCleaner(flows, facts.family === 'IPv4' ? 'ipv4' : 'ipv6', log);
    const writer = new TableWriter({ ...options, draft: table.draft });
    return { facts, table, cache: new RouteCache(), writer, cleaner };
  });
  const slicesOf = slicesByService(informers);
  const loop = createSettlingLoop({
    ...options,
    name: 'service-routing',
    checkMs: CHECK_MS,
    retryMs: RETRY_MS,
    failure: 'unable to write the rules of services',
    settle: async () => {
      if (!informers.hasSynced()) return false;
      for (const { facts, table, cache, writer, cleaner } of families) {
        const place = { nodeName, zone, family: facts.family };
        const pace = new Pace(clock);
        const routes = cache.compute(informers.for(services).list(), slicesOf, place, balancer);
        await pace.rest();
        for (const steps = table.steps(routes); steps.next().done !== true; ) await pace.rest();
        await writer.write();
        await cleaner?.clean(routes);
      }
      return true;
    },
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
