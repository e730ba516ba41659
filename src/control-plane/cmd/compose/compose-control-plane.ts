import path from 'node:path';
import { createInformers } from '../../../api/client/informer.ts';
import { ipAddresses, services } from '../../../api/client/resource-types.ts';
import { isServiceAddress } from '../../../api/networking/service-address.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { defaultPolicy } from '../../authz/rbac/bootstrap/default-policy.ts';
import { ensureDefaultPolicy } from '../../authz/rbac/bootstrap/ensure-policy.ts';
import { createRoleAggregation } from '../../authz/rbac/role-aggregation.ts';
import { createCrdController } from '../../custom-resources/crd-controller.ts';
import { createBootstrapKeeper } from '../bootstrap/bootstrap-objects.ts';
import type { ClusterFacts } from '../bootstrap/cluster-facts.ts';
import { createAllocationRepair } from '../../registry/allocation/allocation-repair.ts';
import { createObjectRepair } from '../../registry/allocation/object-repair.ts';
import type { LeaderTerm } from '../../registry/leader-term.ts';
import { createServerLeases } from '../../registry/server-leases.ts';
import { addressesOfService, allocationsOfService } from '../../resources/core/service/service-allocation.ts';
import { createCompactor } from '../../storage/compactor.ts';
import { createLeaderElection } from '../../controller-runtime/leader-election.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { composeApiServer } from './compose-api-server.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ComposedApiServer } from './compose-api-server.ts';
import { composeControllers } from './compose-controllers.ts';
import { composeScheduler } from './compose-scheduler.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { ownHolderIdentity } from './holder-identity.ts';
import { openStores } from './open-storage.ts';
import { firstAddress } from '../flags/service-range.ts';
import { readSchedulerFiles } from '../configuration/read-scheduler-files.ts';
import { versionInfo } from '../version-info.ts';

export interface ControlPlane {
  /** Resolves when requests are served and the bootstrap objects exist. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The user of the server itself, for its bootstrap objects. */
const itself: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] };

/** The user of the informers of controllers and scheduler. */
const manager: UserInfo = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };

interface Startable {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

/** The whole control plane in one process. Opens and reads the store; rejects if that fails. */
export async function composeControlPlane(options: ControlPlaneOptions, deps: BaseDeps): Promise<ControlPlane> {
  const schedulerConfig = await readSchedulerFiles('scheduler-config', options.scheduler, deps);
  const stores = await openStores(options, deps.clock, deps.log);
  const api = await composeApiServer(options, stores, deps).catch(async (error: unknown) => {
    await stores.close();
    throw error;
  });
  const client = api.clientOf(itself, 'kube-apiserver');
  const lead = (term?: LeaderTerm): Startable => composeLeading(options, duringTerm(api, term), schedulerConfig, deps);
  const allocationRepair = createAllocationRepair({
    ...deps,
    storage: stores.main,
    held: () => api.reader.list(services, '').flatMap(allocationsOfService),
  });
  const addressRepair = createObjectRepair({
    ...deps,
    client,
    type: ipAddresses,
    wanted: () => api.reader.list(services, '').flatMap(addressesOfService),
    actual: () => api.reader.list(ipAddresses, '').filter(isServiceAddress),
  });
  let port = options.securePort;
  const elect = (): Startable =>
    createLeaderElection({
      ...deps,
      client,
      name: 'kube-controller-manager',
      identity: ownHolderIdentity(options.bindAddress, port, deps.random),
      // The store refuses what an earlier leader still sends from the moment the new term begins.
      create: (won) => madeAtStart(async () => lead(await api.beginTerm(won))),
    });
  // SQLite's file belongs to this process only. With etcd there may be other servers, and only one may run controllers.
  // The identity is the listen address.
  const leading = options.storage.backend === 'sqlite' ? lead() : madeAtStart(elect);
  const servers =
    options.storage.backend === 'sqlite'
      ? undefined
      : createServerLeases({
          ...deps,
          ...{ storage: stores.main, address: options.advertiseAddress, onChange: () => keeper.check() },
        });
  const facts = (): ClusterFacts => ({
    advertiseAddress: options.advertiseAddress,
    securePort: port,
    serverAddresses: servers?.addresses() ?? [options.advertiseAddress],
    serviceIp: firstAddress(options.serviceCidrs[0] ?? ''),
    authority: api.pki.authority.certificatePem,
    authenticationConfig: api.authenticationConfig,
    serviceCidrs: options.serviceCidrs,
    version: versionInfo().gitVersion,
  });
  const keeper = createBootstrapKeeper({ ...deps, client, reader: api.reader, facts });
  // Roles of namespaces need their namespaces, and controllers their roles.
  const policy: Startable = {
    start: () => ensureDefaultPolicy(client, deps.log, defaultPolicy(options.api.gates)),
    stop: () => Promise.resolve(),
  };
  const parts = inOrder([
    ...(servers === undefined ? [] : [servers]),
    keeper,
    policy,
    createCompactor({ ...deps, storage: stores.main }),
    ...stores.others.map(({ storage }) => createCompactor({ ...deps, storage })),
    allocationRepair,
    addressRepair,
    createRoleAggregation({ ...deps, reader: api.reader, client }),
    createCrdController({ ...deps, reader: api.reader, client }),
    ...api.aggregation.controllers(client, api.definitions),
    leading,
  ]);
  return {
    start: async () => {
      ({ port } = await api.listen());
      await parts.start();
      deps.log.info('serving', {
        address: options.bindAddress,
        port,
        kubeconfig: path.resolve(options.dataDir, 'admin.conf'),
      });
    },
    stop: async () => {
      await parts.stop();
      await api.stop();
      await stores.close();
    },
  };
}

/** Creates the parts that must run only once in a cluster. */
function composeLeading(
  options: ControlPlaneOptions,
  api: ComposedApiServer,
  config: SchedulerConfig,
  deps: BaseDeps,
): Startable {
  const client = api.clientOf(manager, 'kube-controller-manager');
  // What an earlier leader wrote until the term began must be known before anything is decided.
  const informers = createInformers({ ...deps, client, startsAt: 'newest' });
  const controllers = composeControllers(options, api, informers, deps);
  const scheduler = options.scheduler.enabled ? [composeScheduler(config, api, informers, deps)] : [];
  return inOrder([informers, controllers, ...scheduler]);
}

/**
 * Returns the same server, on which leading parts write only during the term. It is absent with SQLite, which has one
 * process.
 */
function duringTerm(api: ComposedApiServer, term: LeaderTerm | undefined): ComposedApiServer {
  return { ...api, clientOf: (user, fieldManager) => api.clientOf(user, fieldManager, term) };
}

function madeAtStart(make: () => Startable | Promise<Startable>): Startable {
  let part: Startable | undefined;
  return {
    start: async () => {
      part = await make();
      await part.start();
    },
    stop: () => part?.stop() ?? Promise.resolve(),
  };
}

/** Combines parts: starts them in order and stops them in reverse. */
function inOrder(parts: readonly Startable[]): Startable {
  const started: Startable[] = [];
  return {
    start: async () => {
      for (const part of parts) {
        await part.start();
        started.push(part);
      }
    },
    stop: async () => {
      for (const part of started.splice(0).reverse()) await part.stop();
    },
  };
}
