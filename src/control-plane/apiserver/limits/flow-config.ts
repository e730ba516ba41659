/**
 * Who may use how much of the server at once (upstream: the mandatory and suggested objects of
 * flowcontrol.apiserver.k8s.io).
 */
export interface PriorityLevel {
  readonly name: string;
  /** Its part of all seats, against the other levels' shares. */
  readonly shares: number;
  /** How much of that others may use while it does not. */
  readonly lendablePercent: number;
  /** `exempt`: never waits. `reject`: no queues, a request that finds no seat is sent away. */
  readonly limit:
    | 'exempt'
    | 'reject'
    | { readonly queues: number; readonly handSize: number; readonly queueLength: number };
}

export interface FlowSchema {
  readonly name: string;
  readonly level: string;
  /** The lowest that matches counts. */
  readonly precedence: number;
  /** What tells flows of the schema apart. */
  readonly distinguisher: 'user' | 'namespace' | 'none';
  readonly subjects: {
    readonly groups?: readonly string[];
    readonly users?: readonly string[] /** Any service account of the namespace. */;
    readonly serviceAccountsIn?: string;
  };
  /** Absent: everything. */
  readonly requests?: readonly FlowRule[];
}

export type FlowRule =
  | { readonly verbs: readonly string[]; readonly group: string; readonly resources: readonly string[] }
  | { readonly verbs: readonly string[]; readonly paths: readonly string[] };

const queues = (count: number, handSize: number): PriorityLevel['limit'] => ({
  queues: count,
  handSize,
  queueLength: 50,
});

export const priorityLevels: readonly PriorityLevel[] = [
  { name: 'exempt', shares: 0, lendablePercent: 0, limit: 'exempt' },
  { name: 'catch-all', shares: 5, lendablePercent: 0, limit: 'reject' },
  { name: 'system', shares: 30, lendablePercent: 33, limit: queues(64, 6) },
  { name: 'node-high', shares: 40, lendablePercent: 25, limit: queues(64, 6) },
  { name: 'leader-election', shares: 10, lendablePercent: 0, limit: queues(16, 4) },
  { name: 'workload-high', shares: 40, lendablePercent: 50, limit: queues(128, 6) },
  { name: 'workload-low', shares: 100, lendablePercent: 90, limit: queues(128, 6) },
  { name: 'global-default', shares: 20, lendablePercent: 50, limit: queues(128, 6) },
];

const everybody = { groups: ['system:unauthenticated', 'system:authenticated'] };
const controllerManager = 'system:kube-controller-manager';
const scheduler = 'system:kube-scheduler';

export const flowSchemas: readonly FlowSchema[] = [
  { name: 'exempt', level: 'exempt', precedence: 1, distinguisher: 'none', subjects: { groups: ['system:masters'] } },
  {
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    distinguisher: 'none',
    subjects: everybody,
    requests: [{ verbs: ['get'], paths: ['/healthz', '/readyz', '/livez'] }],
  },
  {
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    distinguisher: 'user',
    subjects: { users: [controllerManager, scheduler], serviceAccountsIn: 'kube-system' },
    requests: [{ verbs: ['get', 'create', 'update'], group: 'coordination.k8s.io', resources: ['leases'] }],
  },
  {
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    distinguisher: 'user',
    subjects: { groups: ['system:nodes'] },
    requests: [
      { verbs: ['*'], group: '', resources: ['nodes', 'nodes/status'] },
      { verbs: ['*'], group: 'coordination.k8s.io', resources: ['leases'] },
    ],
  },
  {
    name: 'system-nodes',
    level: 'system',
    precedence: 500,
    distinguisher: 'user',
    subjects: { groups: ['system:nodes'] },
  },
  {
    name: 'kube-controller-manager',
    level: 'workload-high',
    precedence: 800,
    distinguisher: 'namespace',
    subjects: { users: [controllerManager] },
  },
  {
    name: 'kube-scheduler',
    level: 'workload-high',
    precedence: 800,
    distinguisher: 'namespace',
    subjects: { users: [scheduler] },
  },
  {
    name: 'kube-system-service-accounts',
    level: 'workload-high',
    precedence: 900,
    distinguisher: 'namespace',
    subjects: { serviceAccountsIn: 'kube-system' },
  },
  {
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    distinguisher: 'user',
    subjects: { groups: ['system:serviceaccounts'] },
  },
  { name: 'global-default', level: 'global-default', precedence: 9900, distinguisher: 'user', subjects: everybody },
  { name: 'catch-all', level: 'catch-all', precedence: 10_000, distinguisher: 'user', subjects: everybody },
];
