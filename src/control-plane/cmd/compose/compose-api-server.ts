import { hostname } from 'node:os';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { processorMs } from '../../../base/turn-share.ts';
import type { BackendTable } from '../../aggregator/backend-table.ts';
import type { ApiServer } from '../../apiserver/create-api-server.ts';
import { createApiServer } from '../../apiserver/create-api-server.ts';
import { AccessMetrics } from '../../apiserver/endpoints/access-metrics.ts';
import { componentRegistry } from '../../apiserver/endpoints/component-registry.ts';
import type { ApiServerOptions } from '../../apiserver/options.ts';
import { RoleGrants } from '../../authz/rbac/role-grants.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { indexCustomKinds } from '../../custom-resources/index-custom-kinds.ts';
import type { Definitions } from '../../model/definitions.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer, UserInfo } from '../../model/user-info.ts';
import { createOpenApiDocuments } from '../../openapi/open-api-documents.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import type { RegistryOptions } from '../../registry/create-registry.ts';
import { createRegistry } from '../../registry/create-registry.ts';
import type { LeaderTerm, TermOptions } from '../../registry/leader-term.ts';
import { createLocalClient } from '../../registry/local-client.ts';
import type { Registry } from '../../registry/registry.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { versionInfo } from '../version-info.ts';
import type { BaseDeps } from './base-deps.ts';
import { composeAdmission } from './compose-admission.ts';
import type { ComposedAggregation } from './compose-aggregation.ts';
import { composeAggregation } from './compose-aggregation.ts';
import { composeAuthenticators } from './compose-authenticators.ts';
import type { ComposedAuthentication } from './compose-authenticators.ts';
import { composeAuthorizers } from './compose-authorizers.ts';
import { composeFront } from './compose-front.ts';
import { withUsage } from './compose-usage.ts';
import type { Stores } from './open-storage.ts';
import { servedKinds } from './served-kinds.ts';
import { composeCertificates, pairOf } from './compose-certificates.ts';
import type { ComposedCertificates } from './compose-certificates.ts';
import { beginTermIn, componentsOf, countObjects, describeStores, openHomes } from './compose-stores.ts';

/** The user of the API server's own writes (upstream: the loopback client). */
const itself: UserInfo = { name: 'system:apiserver', groups: ['system:authenticated', 'system:masters'] };

export interface ComposedApiServer {
  readonly server: ApiServer;
  readonly reader: ObjectReader;
  readonly pki: ClusterPki;
  /** The authentication settings for aggregated servers. */
  readonly authenticationConfig: Readonly<Record<string, string>>;
  readonly aggregation: ComposedAggregation;
  readonly definitions: Definitions;
  /**
   * Returns a client for a caller in this process, which acts as that user. With `term`, it writes only during the
   * term.
   */
  clientOf(user: UserInfo, fieldManager: string, term?: LeaderTerm): ApiClient;
  /** Begins the term of the holder of this lease. */
  beginTerm(won: Pick<TermOptions, 'lease' | 'onOver'>): Promise<LeaderTerm>;
  readonly customKinds: CustomKinds;
  readonly signLegacyToken: ComposedAuthentication['services']['signLegacyToken'];
  listen(): Promise<{ readonly port: number }>;
  stop(): Promise<void>;
}

/** Reads the store, and composes the parts of the request path in the order of their use. */
export async function composeApiServer(
  options: ControlPlaneOptions,
  stores: Stores,
  deps: BaseDeps,
): Promise<ComposedApiServer> {
  const kinds = servedKinds(options);
  const opened = await openHomes(kinds, stores, deps);
  const { definitions, homes, reader, backends } = opened;
  const certificates = await composeCertificates(options, deps);
  const { pki, trust } = certificates;
  const aggregation = composeAggregation(options, { reader, table: backends, pki: () => pki, ...deps });
  const grants = new RoleGrants(reader);
  const access = await composeAccess(options, { certificates, grants, reader, client: () => ownClient(), ...deps });
  const { authorizer } = access;
  const clientOf = (user: UserInfo, fieldManager: string, term?: LeaderTerm): ApiClient =>
    createLocalClient({
      ...{ registry: served, definitions, user, fieldManager, term },
      authorize: (attributes) => authorizer.authorize(attributes),
    });
  const ownClient = (): ApiClient => clientOf(itself, 'kube-apiserver');
  const admission = await composeAdmission(options, {
    ...{ reader, grants, authorizer, client: ownClient, ...deps },
    findKind: (apiVersion, kind) => definitions.byKind(apiVersion, kind),
    refresh: () => homes.fresh(),
  });
  const registry: Registry = createRegistry({
    homes,
    reader,
    storage: stores.main,
    definitions,
    ...{ ...deps, workedMs: processorMs },
    allocationSettings: { serviceCidrs: options.serviceCidrs, nodePorts: options.nodePorts },
    allocationClient: ownClient,
    policy: { allowPrivileged: options.allowPrivileged },
    admission: admission.plugins,
    services: access.authentication.services,
    reviewAccess: reviewsBy(authorizer, access.authentication),
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
    authenticators: access.authentication.authenticators,
    authorizer,
    connectAdmission: admission.plugins,
    aggregation: aggregation.options,
    anonymousAuth: access.authentication.anonymous,
    accessMetrics: access.metrics,
    ...describeApi(definitions, backends, access.authentication.openIdDocuments),
    ...describeStores(stores, kinds),
    countObjects: () => countObjects(homes),
    limits: options.limits,
    flowObjects: reader,
    ...deps,
  });
  const serving = serve(server, certificates, options);
  return {
    server,
    reader,
    pki,
    authenticationConfig: trust.config,
    aggregation,
    definitions,
    clientOf,
    beginTerm: (won) => beginTermIn({ definitions, homes }, won),
    customKinds: indexCustomKinds(definitions),
    signLegacyToken: access.authentication.services.signLegacyToken,
    listen: () => serving.listen(),
    stop: async () => {
      await serving.stop();
      await front.close();
      access.close();
      admission.close();
      opened.close();
    },
  };
}

interface ComposedAccess {
  readonly authorizer: Authorizer;
  readonly authentication: ComposedAuthentication;
  /** The metrics of authentication and authorization. */
  readonly metrics: AccessMetrics;
  close(): void;
}

/** Creates authentication and authorization. */
async function composeAccess(
  options: ControlPlaneOptions,
  {
    certificates: { pki, clientCa, trust },
    grants,
    client,
    reader,
    ...deps
  }: BaseDeps & {
    readonly certificates: ComposedCertificates;
    readonly grants: RoleGrants;
    readonly reader: ObjectReader;
    readonly client: () => ApiClient;
  },
): Promise<ComposedAccess> {
  const metrics = new AccessMetrics(() => deps.clock.nowMs(), `apiserver-${hostname()}`);
  const accessDeps = { ...deps, reader, observer: metrics };
  const { authorizer, close } = await composeAuthorizers(options, { grants, ...accessDeps });
  const authentication = await composeAuthenticators(options, {
    ...{ pki, clientAuthorities: clientCa, frontProxyAuthorities: trust.authorities, client },
    ...accessDeps,
  });
  return {
    authorizer,
    authentication,
    metrics,
    close: () => {
      authentication.close();
      close();
    },
  };
}

/** Opens the secure port, and replaces its certificate when the certificate is renewed. */
function serve(
  server: ApiServer,
  { pki, trust, createRenewal }: ComposedCertificates,
  { bindAddress, securePort }: ControlPlaneOptions,
): Pick<ComposedApiServer, 'listen' | 'stop'> {
  const renewal = createRenewal((pair) => server.setCertificate(pair));
  return {
    listen: async () => {
      const tls = { ...pairOf(pki.serving), clientCa: trust.handshake };
      const address = await server.listen({ host: bindAddress, port: securePort, tls });
      renewal.start();
      return address;
    },
    stop: async () => {
      await renewal.stop();
      await server.stop();
    },
  };
}

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
