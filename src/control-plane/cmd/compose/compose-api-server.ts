import { componentRegistry } from '../../apiserver/endpoints/component-registry.ts';
import type { Component } from '../../apiserver/endpoints/component-registry.ts';
import { AccessMetrics } from '../../apiserver/endpoints/access-metrics.ts';
import { hostname } from 'node:os';
import path from 'node:path';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { customResourceDefinitions, leases } from '../../../api/client/resource-types.ts';
import { KubeletError } from '../../../base/errors.ts';
import { processorMs } from '../../../base/turn-share.ts';
import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import { createApiServer } from '../../apiserver/create-api-server.ts';
import type { ApiServer } from '../../apiserver/create-api-server.ts';
import type { ApiServerOptions } from '../../apiserver/options.ts';
import { RoleGrants } from '../../authz/rbac/role-grants.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer, UserInfo } from '../../model/user-info.ts';
import { createOpenApiDocuments } from '../../openapi/open-api-documents.ts';
import { ensureClusterPki } from '../../pki/cluster-pki.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import type { Issued } from '../../pki/issued-files.ts';
import { createPkiRenewal } from '../../pki/pki-renewal.ts';
import { createCacheReader } from '../../registry/cache/cache-reader.ts';
import { createRegistry } from '../../registry/create-registry.ts';
import type { RegistryOptions } from '../../registry/create-registry.ts';
import { DefinitionIndex, REGISTRY_PREFIX, storageKey, storagePrefix } from '../../registry/definition-index.ts';
import { beginTerm } from '../../registry/leader-term.ts';
import type { LeaderTerm, TermOptions } from '../../registry/leader-term.ts';
import { readSnapshotPage } from '../../storage/snapshot/read-page.ts';
import { createLocalClient } from '../../registry/local-client.ts';
import { WatchCache } from '../../registry/cache/watch-cache.ts';
import { Homes } from '../../registry/homes.ts';
import type { Registry } from '../../registry/registry.ts';
import { WebhookClient } from '../../admission/webhooks/webhook-client.ts';
import { formatAge } from '../../apiserver/output/table.ts';
import { followCustomKinds } from '../../custom-resources/custom-kinds.ts';
import { indexCustomKinds } from '../../custom-resources/index-custom-kinds.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import type { Definitions } from '../../model/definitions.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { BaseDeps } from './base-deps.ts';
import { clientAuthorities } from './client-authorities.ts';
import { composeAdmission } from './compose-admission.ts';
import { composeAuthenticators } from './compose-authenticators.ts';
import type { ComposedAuthentication } from './compose-authenticators.ts';
import { composeAuthorizers } from './compose-authorizers.ts';
import { BackendTable } from '../../aggregator/backend-table.ts';
import { composeAggregation } from './compose-aggregation.ts';
import type { ComposedAggregation } from './compose-aggregation.ts';
import { frontProxyTrust } from '../flags/request-header-flags.ts';
import { composeFront } from './compose-front.ts';
import { withUsage } from './compose-usage.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { servedKinds } from './served-kinds.ts';
import type { Stores } from './open-storage.ts';
import { kindsOf } from '../flags/storage-overrides.ts';
import { firstAddress } from '../flags/service-range.ts';
import { versionInfo } from '../version-info.ts';

/** Writes of the API server itself (upstream: the loopback client). */
const itself: UserInfo = { name: 'system:apiserver', groups: ['system:authenticated', 'system:masters'] };

export interface ComposedApiServer {
  readonly server: ApiServer;
  readonly reader: ObjectReader;
  readonly pki: ClusterPki;
  /** The authentication settings for aggregated servers. */
  readonly authenticationConfig: Readonly<Record<string, string>>;
  readonly aggregation: ComposedAggregation;
  readonly definitions: Definitions;
  /** A client for a caller in this process, acting as that user. With `term`, it writes only while the term lasts. */
  clientOf(user: UserInfo, fieldManager: string, term?: LeaderTerm): ApiClient;
  /** Begins the term of the holder of this lease. */
  beginTerm(won: Pick<TermOptions, 'lease' | 'onOver'>): Promise<LeaderTerm>;
  readonly customKinds: CustomKinds;
  readonly signLegacyToken: ComposedAuthentication['services']['signLegacyToken'];
  listen(): Promise<{ readonly port: number }>;
  stop(): Promise<void>;
}

interface OpenedStores {
  readonly definitions: DefinitionIndex;
  readonly homes: Homes;
  readonly reader: ObjectReader;
  readonly backends: BackendTable;
  close(): void;
}

async function openHomes(
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

/** Reads the store, and composes the parts of the request path in the order of their use. */
export async function composeApiServer(
  options: ControlPlaneOptions,
  stores: Stores,
  deps: BaseDeps,
): Promise<ComposedApiServer> {
  const servedResources = servedKinds(options);
  const opened = await openHomes(servedResources, stores, deps);
  const { definitions, homes, reader, backends } = opened;
  const pki = await preparePki(options, deps);
  const clientCa = clientAuthorities(pki.authority.certificatePem, options.clientCaFile);
  const trust = frontProxyTrust(options.requestHeaders, pki, clientCa);
  const aggregation = composeAggregation(options, { reader, table: backends, pki: () => pki, ...deps });
  const grants = new RoleGrants(reader);
  const accessMetrics = new AccessMetrics(() => deps.clock.nowMs(), `apiserver-${hostname()}`);
  const accessDeps = { ...deps, reader, observer: accessMetrics };
  const { authorizer, close: closeAuthorizers } = await composeAuthorizers(options, { grants, ...accessDeps });
  const access = await composeAuthenticators(options, {
    pki,
    clientAuthorities: clientCa,
    frontProxyAuthorities: trust.authorities,
    client: () => clientOf(itself, 'kube-apiserver'),
    ...accessDeps,
  });
  const clientOf = (user: UserInfo, fieldManager: string, term?: LeaderTerm): ApiClient =>
    createLocalClient({
      ...{ registry: served, definitions, user, fieldManager, term },
      authorize: (attributes) => authorizer.authorize(attributes),
    });
  const admission = await composeAdmission(options, {
    reader,
    grants,
    authorizer,
    findKind: (apiVersion, kind) => definitions.byKind(apiVersion, kind),
    client: () => clientOf(itself, 'kube-apiserver'),
    refresh: () => homes.fresh(),
    ...deps,
  });
  const registry: Registry = createRegistry({
    homes,
    reader,
    storage: stores.main,
    definitions,
    ...{ ...deps, workedMs: processorMs },
    allocationSettings: { serviceCidrs: options.serviceCidrs, nodePorts: options.nodePorts },
    allocationClient: () => clientOf(itself, 'kube-apiserver'),
    policy: { allowPrivileged: options.allowPrivileged },
    admission: admission.plugins,
    services: access.services,
    reviewAccess: reviewsBy(authorizer, access),
  });
  const front = await composeFront(options, deps);
  const served = withUsage(componentRegistry(registry, componentsOf(stores)), {
    reader,
    kubelets: front.options.kubelets,
    ...deps,
  });
  const server = createApiServer({
    ...front.options,
    registry: served,
    definitions,
    authenticators: access.authenticators,
    authorizer,
    connectAdmission: admission.plugins,
    aggregation: aggregation.options,
    anonymousAuth: access.anonymous,
    accessMetrics,
    ...describeApi(definitions, backends, access.openIdDocuments),
    ...aboutStores(stores, servedResources),
    countObjects: () => countsOf(homes),
    limits: options.limits,
    flowObjects: reader,
    ...deps,
  });
  const servingChanged = (pair: Issued): void => server.setCertificate(pairOf(pair));
  const renewal = createPkiRenewal({
    folder: path.resolve(options.dataDir, 'pki'),
    ensure: () => preparePki(options, deps),
    servingChanged,
    ...deps,
  });
  return {
    server,
    reader,
    pki,
    authenticationConfig: trust.config,
    aggregation,
    definitions,
    clientOf,
    beginTerm: (won) => beginTermOf(won, { definitions, homes }),
    customKinds: indexCustomKinds(definitions),
    signLegacyToken: access.services.signLegacyToken,
    listen: async () => {
      const tls = { ...pairOf(pki.serving), clientCa: trust.handshake };
      const address = await server.listen({ host: options.bindAddress, port: options.securePort, tls });
      renewal.start();
      return address;
    },
    stop: async () => {
      await renewal.stop();
      await server.stop();
      await front.close();
      access.close();
      closeAuthorizers();
      admission.close();
      opened.close();
    },
  };
}

const countsOf = (cache: Homes): ReadonlyMap<string, number> =>
  new Map([...cache.counts()].map(([{ type }, count]) => [formatGroupResource(type), count]));

/** Access and token reviews use the same authorizers and authenticators as requests. */
function reviewsBy(
  authorizer: Authorizer,
  { authenticateToken }: ComposedAuthentication,
): RegistryOptions['reviewAccess'] {
  return ({ user }) => ({
    user,
    authorize: async (attributes) => authorizer.authorize(attributes),
    rulesFor: (of, namespace) =>
      authorizer.rulesFor?.(of, namespace) ??
      Promise.resolve({ resourceRules: [], nonResourceRules: [], incomplete: true }),
    authenticateToken,
  });
}

const pairOf = ({ certificatePem: cert, keyPem: key }: Issued): { cert: string; key: string } => ({ cert, key });

/** Endpoints about the API itself. */
function describeApi(
  definitions: Definitions,
  backends: BackendTable,
  openId: ComposedAuthentication['openIdDocuments'],
): Pick<ApiServerOptions, 'version' | 'documents' | 'documentPaths'> {
  const version = versionInfo();
  const openApi = createOpenApiDocuments(definitions, { version: version.gitVersion, backends });
  return {
    version,
    documents: async (request) => openId.get(request.path) ?? openApi.get(request),
    documentPaths: () => [...openApi.paths(), ...openId.keys()],
  };
}

/** Health checks and object counts of the stores. */
function aboutStores(
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
    // Only for one store: several stores have no common revision.
    ...(others.length === 0 && {
      snapshot: (position) => readSnapshotPage(main, position, { prefix: REGISTRY_PREFIX, skipped }),
    }),
  };
}

/** All components run in this process, next to the store. */
function componentsOf({ main, others }: Stores): readonly Component[] {
  const runs = (): Promise<void> => Promise.resolve();
  const storages = [main, ...others.map(({ storage }) => storage)];
  return [
    { name: 'scheduler', check: runs },
    { name: 'controller-manager', check: runs },
    ...storages.map((storage, index) => ({ name: `etcd-${index}`, check: () => storage.check() })),
  ];
}

function beginTermOf(
  won: Pick<TermOptions, 'lease' | 'onOver'>,
  { definitions, homes }: Pick<OpenedStores, 'definitions' | 'homes'>,
): Promise<LeaderTerm> {
  const definition = definitions.byType(leases);
  if (definition === undefined) throw new KubeletError('Internal', 'leases are not served');
  const { storage } = homes.of(definition);
  return beginTerm({ ...won, storage, leaseKey: storageKey(definition, won.lease.metadata) });
}

/** The address for clients on this machine: loopback if the server listens on all addresses. */
function addressOfListener(bindAddress: string): string {
  if (bindAddress === '0.0.0.0' || bindAddress === '::') return '127.0.0.1';
  return bindAddress.includes(':') ? `[${bindAddress}]` : bindAddress;
}

function preparePki(options: ControlPlaneOptions, { clock, log }: BaseDeps): Promise<ClusterPki> {
  const serviceAddresses = options.serviceCidrs.map(firstAddress);
  if (serviceAddresses.length === 0) throw new KubeletError('Invalid', '--service-cluster-ip-range contains no range');
  return ensureClusterPki({
    folder: path.resolve(options.dataDir),
    nowMs: clock.nowMs(),
    log,
    serverUrl: `https://${addressOfListener(options.bindAddress)}:${options.securePort}`,
    hostname: hostname(),
    addresses: [
      options.advertiseAddress,
      ...(['0.0.0.0', '::'].includes(options.bindAddress) ? [] : [options.bindAddress]),
    ],
    extraNames: options.certSans,
    serviceAddresses,
  });
}
