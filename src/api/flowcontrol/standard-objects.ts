import type { FlowSchemaSpec, PolicyRulesWithSubjects, ResourcePolicyRule, Subject } from './flow-schema.ts';
import type { PriorityLevelConfigurationSpec } from './priority-level-configuration.ts';

/** `true`: the server keeps the spec of a standard object up to date. `false`: an administrator owns it. */
export const AUTO_UPDATE_ANNOTATION = 'apf.kubernetes.io/autoupdate-spec';

/**
 * `mandatory` objects always exist with this spec. `suggested` ones are created, and kept up to date unless an
 * administrator changes them.
 */
export interface StandardObject<Spec> {
  readonly name: string;
  readonly role: 'mandatory' | 'suggested';
  readonly spec: Spec;
}

const queued = (
  shares: number,
  lendablePercent: number,
  queues: number,
  handSize: number,
): PriorityLevelConfigurationSpec => ({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
  },
});

/** The levels that every server has (upstream: flowcontrol/bootstrap). */
export const standardPriorityLevels: readonly StandardObject<PriorityLevelConfigurationSpec>[] = [
  {
    name: 'exempt',
    role: 'mandatory',
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  {
    name: 'catch-all',
    role: 'mandatory',
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
  },
  { name: 'system', role: 'suggested', spec: queued(30, 33, 64, 6) },
  { name: 'node-high', role: 'suggested', spec: queued(40, 25, 64, 6) },
  { name: 'leader-election', role: 'suggested', spec: queued(10, 0, 16, 4) },
  { name: 'workload-high', role: 'suggested', spec: queued(40, 50, 128, 6) },
  { name: 'workload-low', role: 'suggested', spec: queued(100, 90, 128, 6) },
  { name: 'global-default', role: 'suggested', spec: queued(20, 50, 128, 6) },
];

const groups = (...names: readonly string[]): Subject[] => names.map((name) => ({ kind: 'Group', group: { name } }));
const users = (...names: readonly string[]): Subject[] => names.map((name) => ({ kind: 'User', user: { name } }));
const systemAccounts: Subject = { kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } };
const everyone = groups('system:unauthenticated', 'system:authenticated');

const resources = (verbs: string[], group: string, names: string[], clusterScope: boolean): ResourcePolicyRule => ({
  verbs,
  apiGroups: [group],
  resources: names,
  ...(clusterScope && { clusterScope }),
  namespaces: ['*'],
});

const everything = (subjects: Subject[]): PolicyRulesWithSubjects[] => [
  {
    subjects,
    resourceRules: [resources(['*'], '*', ['*'], true)],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  },
];

function flowSchema(
  level: string,
  matchingPrecedence: number,
  distinguisher: 'ByUser' | 'ByNamespace' | undefined,
  rules: PolicyRulesWithSubjects[],
): FlowSchemaSpec {
  return {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...(distinguisher !== undefined && { distinguisherMethod: { type: distinguisher } }),
    rules,
  };
}

const CONTROLLER_MANAGER = 'system:kube-controller-manager';
const SCHEDULER = 'system:kube-scheduler';

const leaderElection: PolicyRulesWithSubjects = {
  subjects: [...users(CONTROLLER_MANAGER, SCHEDULER), systemAccounts],
  resourceRules: [resources(['get', 'create', 'update'], 'coordination.k8s.io', ['leases'], false)],
};
const nodeReports: PolicyRulesWithSubjects = {
  subjects: groups('system:nodes'),
  resourceRules: [
    resources(['*'], '', ['nodes', 'nodes/status'], true),
    resources(['*'], 'coordination.k8s.io', ['leases'], false),
  ],
};
const probes: PolicyRulesWithSubjects = {
  subjects: everyone,
  nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
};

const suggested = (name: string, spec: FlowSchemaSpec): StandardObject<FlowSchemaSpec> => ({
  name,
  role: 'suggested',
  spec,
});

/** The schemas that every server has. */
export const standardFlowSchemas: readonly StandardObject<FlowSchemaSpec>[] = [
  { name: 'exempt', role: 'mandatory', spec: flowSchema('exempt', 1, undefined, everything(groups('system:masters'))) },
  { name: 'catch-all', role: 'mandatory', spec: flowSchema('catch-all', 10_000, 'ByUser', everything(everyone)) },
  suggested('probes', flowSchema('exempt', 2, undefined, [probes])),
  suggested('system-leader-election', flowSchema('leader-election', 100, 'ByUser', [leaderElection])),
  suggested('system-node-high', flowSchema('node-high', 400, 'ByUser', [nodeReports])),
  suggested('system-nodes', flowSchema('system', 500, 'ByUser', everything(groups('system:nodes')))),
  suggested(
    'kube-controller-manager',
    flowSchema('workload-high', 800, 'ByNamespace', everything(users(CONTROLLER_MANAGER))),
  ),
  suggested('kube-scheduler', flowSchema('workload-high', 800, 'ByNamespace', everything(users(SCHEDULER)))),
  suggested(
    'kube-system-service-accounts',
    flowSchema('workload-high', 900, 'ByNamespace', everything([systemAccounts])),
  ),
  suggested(
    'service-accounts',
    flowSchema('workload-low', 9000, 'ByUser', everything(groups('system:serviceaccounts'))),
  ),
  suggested('global-default', flowSchema('global-default', 9900, 'ByUser', everything(everyone))),
];
