import { createInformers } from '../../../api/client/informer.ts';
import type { Informers } from '../../../api/client/informer.ts';
import { KubeletError } from '../../../base/errors.ts';
import { createServingApprover } from '../../controllers/certificate-requests/serving-approver.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { createCertificateTools } from './certificate-tools.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ComposedApiServer } from './compose-api-server.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { controllersTable } from './controllers-table.ts';
import { isServed } from '../flags/runtime-config.ts';
import { allResources } from '../../resources/all.ts';
import type { ClusterControllerOptions, ControllerEntry } from './controllers-table.ts';
import { hasInitializers } from './served-kinds.ts';

/** Runs only with --approve-kubelet-serving. */
const servingApprover: ControllerEntry = {
  name: 'kubelet-serving-approver',
  account: 'kubelet-serving-approver',
  create: (options) => createServingApprover({ ...options, servingNames: options.certificates.kubeletServingNames }),
};

/** The user of controllers without their own service account. */
const manager: UserInfo = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };

/** The user of controllers that upstream runs in its API server. */
const server: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] };

/** Returns the user of a controller (upstream: --use-service-account-credentials). */
function userOf({ account: name, ofServer }: ControllerEntry): UserInfo {
  if (ofServer === true) return server;
  if (name === undefined) return manager;
  return {
    name: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  };
}

/** Creates the enabled controllers, with shared informers. */
export function composeControllers(
  options: ControlPlaneOptions,
  api: ComposedApiServer,
  informers: Informers,
  deps: BaseDeps,
): { start(): void; stop(): Promise<void> } {
  const certificates = createCertificateTools({
    pki: api.pki,
    longestMs: options.signingMs,
    nowMs: () => deps.clock.nowMs(),
    log: deps.log,
  });
  const table = options.approvesKubeletServing ? [...controllersTable, servingApprover] : controllersTable;
  const served = allResources.filter((each) => isServed(each, options.api));
  const lasting = served.filter(({ review, storedAs }) => review === undefined && storedAs === undefined);
  const common = {
    ...deps,
    kept: lasting.filter(({ ttlSeconds }) => ttlSeconds === undefined).map(({ type }) => type),
    migratable: migratableOf(served),
    inNamespaces: lasting.map(({ type }) => type).filter(({ namespaced }) => namespaced),
    customKinds: api.customKinds,
    definitions: api.definitions,
    informers,
    certificates,
    settings: options,
    rootCa: api.pki.authority.certificatePem,
    signLegacyToken: api.signLegacyToken,
    claimMetrics: api.server.claimMetrics,
    autoscalerMetrics: api.server.autoscalerMetrics,
  };
  const all = hasInitializers(options) ? allInformers(api, deps) : undefined;
  const controllers = selectControllers(options.controllers, table)
    .filter(({ needs }) => needs === undefined || served.some(({ type }) => type === needs))
    .filter(({ needsSetting }) => needsSetting === undefined || options[needsSetting] !== undefined)
    .map((entry) =>
      entry.create({
        ...common,
        ...(entry.seesUninitialized === true && all !== undefined && { informers: all }),
        otherApis: api.aggregation.otherApis(userOf(entry)),
        client: api.clientOf(userOf(entry), 'kube-controller-manager'),
      }),
    );
  return {
    start: () => {
      all?.start();
      for (const controller of controllers) controller.start();
    },
    stop: async () => {
      for (const controller of [...controllers].reverse()) await controller.stop();
      await all?.stop();
    },
  };
}

/** Returns the kinds whose objects a client can list and write, and the others. */
function migratableOf(served: readonly ResourceDefinition[]): ClusterControllerOptions['migratable'] {
  const isWritable = ({ review, verbs }: ResourceDefinition): boolean =>
    review === undefined &&
    (['list', 'update', 'patch'] as const).every((verb) => verbs === undefined || verbs.includes(verb));
  const [types, unwritable] = [served.filter(isWritable), served.filter((each) => !isWritable(each))];
  return { types: types.map(({ type }) => type), unwritable: unwritable.map(({ type }) => type) };
}

/** The shared informers leave out pending objects. */
function allInformers(api: ComposedApiServer, deps: BaseDeps): Informers {
  const client = api.clientOf(manager, 'kube-controller-manager');
  return createInformers({ ...deps, client, includeUninitialized: true, startsAt: 'newest' });
}

/** Selects controllers. `*` means all, `-name` removes one, and `name` adds one. Throws `Invalid` for unknown names. */
export function selectControllers(
  wanted: readonly string[],
  all: readonly ControllerEntry[],
): readonly ControllerEntry[] {
  const known = all.map(({ name }) => name);
  const unknown = wanted.filter((each) => each !== '*' && !known.includes(each.replace(/^-/, '')));
  if (unknown.length > 0)
    throw new KubeletError(
      'Invalid',
      `--controllers: there is no ${unknown.join(', ')}; there are ${known.join(', ')}`,
    );
  return all.filter(({ name }) => !wanted.includes(`-${name}`) && (wanted.includes('*') || wanted.includes(name)));
}
