/**
 * Service routing with nftables: one table for each family, each change in one transaction that holds what has changed.
 * Otherwise as the router with iptables (`service-router.ts`).
 */
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import { Pace } from '../../base/turn.ts';
import { endpointLabels } from '../../api/annotations.ts';
import type { Informers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { CHECK_MS, TableWriter } from '../nftables/table-writer.ts';
import type { Nft } from '../nftables/nft-port.ts';
import type { NftServiceFacts } from './nft-base.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import { followServices } from './follow-services.ts';
import { NftServices } from './nft-services.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';
import { RouteCache } from './route-cache.ts';
import type { ServiceRouter } from './service-router.ts';
import type { FlowTable } from './stale-flows.ts';

export interface NftRouterOptions {
  readonly informers: Informers;
  readonly nft: Nft;
  /** Of UDP; absent: they stay. */
  readonly flows?: FlowTable | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** Of the node, if it has one. */
  readonly zone?: string | undefined;
  readonly tableName: string;
  /** One for each family. */
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
  const slices = informers.for(endpointSlices).index('service', ({ metadata }) => {
    const name = metadata.labels?.[endpointLabels.serviceName];
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  });
  const slicesOf = ({ metadata }: Service): readonly EndpointSlice[] =>
    slices.get(`${metadata.namespace}/${metadata.name}`);
  const routed = Promise.withResolvers<undefined>();
  let hasFailed = false;
  let isWritten = false;

  const pass = async (): Promise<void> => {
    if (!informers.hasSynced()) return;
    try {
      for (const { facts, table, cache, writer, cleaner } of families) {
        const place = { nodeName, zone, family: facts.family };
        const pace = new Pace(clock);
        const routes = cache.compute(informers.for(services).list(), slicesOf, place, balancer);
        await pace.rest();
        for (const steps = table.steps(routes); steps.next().done !== true; ) await pace.rest();
        await writer.write();
        await cleaner?.clean(routes);
      }
      hasFailed = false;
      isWritten = true;
      routed.resolve(undefined);
    } catch (error) {
      hasFailed = true;
      log.error('unable to write the rules of services', { error: errorMessage(error), retryMs: RETRY_MS });
    }
  };
  const loop = createLoop({
    ...options,
    name: 'service-routing',
    periodMs: () => (hasFailed ? RETRY_MS : CHECK_MS),
    pass,
  });
  const wake = (): void => loop.wake();
  let unfollow = (): void => undefined;
  return {
    start: () => {
      unfollow = followServices(informers, wake);
      loop.start();
    },
    whenRouted: () => routed.promise,
    isHealthy: () => isWritten && !hasFailed,
    stop: async () => {
      unfollow();
      await loop.stop();
    },
  };
}
