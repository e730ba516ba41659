/** The stores of the cluster behind the API server: their caches, health checks and object counts. */
import { customResourceDefinitions, leases } from '../../../api/client/resource-types.ts';
import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import { KubeletError } from '../../../base/errors.ts';
import { WebhookClient } from '../../admission/webhooks/webhook-client.ts';
import { BackendTable } from '../../aggregator/backend-table.ts';
import type { Component } from '../../apiserver/endpoints/component-registry.ts';
import type { ApiServerOptions } from '../../apiserver/options.ts';
import { formatAge } from '../../apiserver/output/table.ts';
import { followCustomKinds } from '../../custom-resources/custom-kinds.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { createCacheReader } from '../../registry/cache/cache-reader.ts';
import { WatchCache } from '../../registry/cache/watch-cache.ts';
import { DefinitionIndex, REGISTRY_PREFIX, storageKey, storagePrefix } from '../../registry/definition-index.ts';
import { Homes } from '../../registry/homes.ts';
import type { LeaderTerm, TermOptions } from '../../registry/leader-term.ts';
import { beginTerm } from '../../registry/leader-term.ts';
import { readSnapshotPage } from '../../storage/snapshot/read-page.ts';
import { kindsOf } from '../flags/storage-overrides.ts';
import type { BaseDeps } from './base-deps.ts';
import type { Stores } from './open-storage.ts';

export interface OpenedStores {
  readonly definitions: DefinitionIndex;
  readonly homes: Homes;
  readonly reader: ObjectReader;
  readonly backends: BackendTable;
  close(): void;
}

/** Opens the watch caches. Resolves when they contain the objects of the stores. */
export async function openHomes(
  builtIn: readonly ResourceDefinition[],
  { main, others }: Stores,
  { clock, log, random }: BaseDeps,
): Promise<OpenedStores> {
  const definitions = new DefinitionIndex(builtIn);
  const defining = definitions.byType(customResourceDefinitions);
  const parts = { clock, log };
  const cache = new WatchCache({ ...parts, storage: main, definitions, ...(defining !== undefined && { defining }) });
  const elsewhere = others.map(({ override, storage }) => {
    const kinds = kindsOf(override, builtIn);
    return { kinds, storage, cache: new WatchCache({ ...parts, storage, definitions: new DefinitionIndex(kinds) }) };
  });
  const homes = new Homes(definitions, { cache, storage: main }, elsewhere);
  const reader = createCacheReader(homes, definitions);
  const webhooks = new WebhookClient({ reader, clock, random });
  const conversion = { post: webhooks.post, newUid: () => random.uuid() };
  // Custom kinds must be known when their objects are read.
  followCustomKinds({ reader, definitions, formatAge, conversion });
  const backends = new BackendTable(reader);
  await Promise.all(homes.all.map((home) => home.cache.start()));
  return {
    definitions,
    homes,
    reader,
    backends,
    close: () => {
      homes.stop();
      webhooks.close();
    },
  };
}

/** The number of objects of each kind, by `resource.group`. */
export const countObjects = (homes: Homes): ReadonlyMap<string, number> =>
  new Map([...homes.counts()].map(([{ type }, count]) => [formatGroupResource(type), count]));

/** Returns the health checks of the stores, and snapshots if there is one store. */
export function describeStores(
  { main, others }: Stores,
  kinds: readonly ResourceDefinition[],
): Pick<ApiServerOptions, 'healthChecks' | 'snapshot'> {
  // Keys with an expiry are not restored, because they would never expire.
  const skipped = kinds.filter(({ ttlSeconds }) => ttlSeconds !== undefined).map(storagePrefix);
  return {
    healthChecks: [
      { name: 'etcd', check: () => main.check() },
      ...others.map(({ storage }, index) => ({ name: `etcd-override-${index}`, check: () => storage.check() })),
    ],
    // Only for one store, because several stores have no common revision.
    ...(others.length === 0 && {
      snapshot: (position) => readSnapshotPage(main, position, { prefix: REGISTRY_PREFIX, skipped }),
    }),
  };
}

/** Describes the components, which all run in this process beside the store. */
export function componentsOf({ main, others }: Stores): readonly Component[] {
  const runs = (): Promise<void> => Promise.resolve();
  const storages = [main, ...others.map(({ storage }) => storage)];
  return [
    { name: 'scheduler', check: runs },
    { name: 'controller-manager', check: runs },
    ...storages.map((storage, index) => ({ name: `etcd-${index}`, check: () => storage.check() })),
  ];
}

/** Begins the term of a leader in the store that holds its lease. */
export function beginTermIn(
  { definitions, homes }: Pick<OpenedStores, 'definitions' | 'homes'>,
  won: Pick<TermOptions, 'lease' | 'onOver'>,
): Promise<LeaderTerm> {
  const definition = definitions.byType(leases);
  if (definition === undefined) throw new KubeletError('Internal', 'leases are not served');
  const { storage } = homes.of(definition);
  return beginTerm({ ...won, storage, leaseKey: storageKey(definition, won.lease.metadata) });
}
