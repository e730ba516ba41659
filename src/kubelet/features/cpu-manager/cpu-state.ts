import { goJson } from '../../../api/go-json.ts';
import { isRecord } from '../../../base/json-record.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet, noCpus, parseCpuSet, sameCpus, sortedCpus } from '../../model/cpu-set.ts';
import { fnv32a } from '../../../base/fnv32a.ts';
import { goMap, goSortedEntries } from '../../model/go-checksum.ts';

/** CPUs by the UID of the pod and the name of the container: exclusive CPUs, and the parts of a pod's pool. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

/** The assignments of the CPU manager. The value is immutable. */
export interface CpuState {
  /**
   * The CPUs of all containers without exclusive ones. They include the reserved CPUs unless the reservation is strict.
   */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
  /**
   * The pools by UID of the pod. A pool is all CPUs of a pod that got them as a whole; its containers have parts of it.
   */
  readonly pools: ReadonlyMap<string, CpuSet>;
}

/** The state as upstream saves it in `cpu_manager_state`. */
export interface CpuCheckpoint extends CpuState {
  readonly policy: string;
}

const names = { policy: 'policyName', shared: 'defaultCpuSet', entries: 'entries', pools: 'podEntries' } as const;

/**
 * Encodes the state file (upstream: cpumanager/state CPUManagerCheckpointV2, or V3 with the gate
 * PodLevelResourceManagers). V2 has no pools.
 */
export function encodeCpuCheckpoint(
  { policy, shared, assignments, pools }: CpuCheckpoint,
  { podLevel }: { readonly podLevel: boolean },
): string {
  const entries = goSortedEntries(assignments).map(
    ([uid, containers]) =>
      [uid, goSortedEntries(containers).map(([name, cpus]) => [name, formatCpuSet(cpus)] as const)] as const,
  );
  const value = {
    [names.policy]: policy,
    [names.shared]: formatCpuSet(shared),
    ...(entries.length === 0
      ? {}
      : { [names.entries]: Object.fromEntries(entries.map(([uid, own]) => [uid, Object.fromEntries(own)])) }),
    ...(podLevel && pools.size > 0
      ? {
          [names.pools]: Object.fromEntries(
            goSortedEntries(pools).map(([uid, cpus]) => [uid, { cpuSet: formatCpuSet(cpus) }]),
          ),
        }
      : {}),
    checksum: checksumOf({ policy, shared: formatCpuSet(shared), entries, pools: podLevel ? pools : undefined }),
  };
  return goJson(value);
}

/**
 * Decodes the state file. Returns a string with the reason if no agent can have written the text. The cost is linear in
 * its length.
 */
export function decodeCpuCheckpoint(text: string): CpuCheckpoint | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not valid JSON';
  }
  if (!isRecord(value)) return 'it is not an object';
  const { policyName, defaultCpuSet, entries = {}, podEntries = {}, checksum } = value;
  if (
    typeof policyName !== 'string' ||
    typeof defaultCpuSet !== 'string' ||
    !isRecord(entries) ||
    !isRecord(podEntries)
  )
    return 'its structure is not the expected one';
  const shared = parseCpuSet(defaultCpuSet);
  const pods = Object.entries(entries).map(([uid, own]) => [uid, textsOf(own)] as const);
  const named = pods.flatMap(([uid, own]) => (own === undefined ? [] : [[uid, own] as const]));
  const pools = poolsOf(podEntries);
  if (shared === undefined || named.length < pods.length || pools === undefined)
    return 'its structure is not the expected one';
  const content = {
    policy: policyName,
    shared: defaultCpuSet,
    entries: goSortedEntries(named).map(([uid, own]) => [uid, goSortedEntries(own)] as const),
  };
  // Files of the oldest agents have no checksum (upstream: VerifyChecksum). A file without pools may have either
  // format.
  const sums = [checksumOf({ ...content, pools }), ...(pools.size > 0 ? [] : [checksumOf(content)]), 0, undefined];
  if (!sums.some((sum) => sum === checksum)) return 'its checksum is wrong';
  const assignments = new Map<string, ReadonlyMap<string, CpuSet>>();
  for (const [uid, own] of named) {
    const containers = new Map<string, CpuSet>();
    for (const [name, cpus] of own) {
      const parsed = parseCpuSet(cpus);
      if (parsed === undefined) return `the CPUs of container ${name} in pod ${uid} cannot be read`;
      containers.set(name, new Set(parsed));
    }
    assignments.set(uid, containers);
  }
  return { policy: policyName, shared: new Set(shared), assignments, pools };
}

function poolsOf(entries: Readonly<Record<string, unknown>>): ReadonlyMap<string, CpuSet> | undefined {
  const pools = new Map<string, CpuSet>();
  for (const [uid, entry] of Object.entries(entries)) {
    if (!isRecord(entry)) return undefined;
    const { cpuSet = '' } = entry;
    const cpus = typeof cpuSet === 'string' ? parseCpuSet(cpuSet) : undefined;
    if (cpus === undefined) return undefined;
    pools.set(uid, new Set(cpus));
  }
  return pools;
}

/** Computes the checksum. `pools` is undefined for the second version of the format. */
function checksumOf({
  policy,
  shared,
  entries,
  pools,
}: {
  readonly policy: string;
  readonly shared: string;
  readonly entries: readonly (readonly [string, readonly (readonly [string, string])[]])[];
  readonly pools?: ReadonlyMap<string, CpuSet> | undefined;
}): number {
  const dumped = goMap(entries.map(([uid, own]) => [uid, goMap(own)]));
  return fnv32a(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policy} DefaultCPUSet:(string)${shared} Entries:(map[string]map[string]string)${dumped}${pools === undefined ? '' : ` PodEntries:(state.PodCPUAssignments)${dumpPools(pools)}`} Checksum:(checksum.Checksum)0}`,
  );
}

function dumpPools(pools: ReadonlyMap<string, CpuSet>): string {
  const dumped = goSortedEntries(pools).map(([uid, cpus]) => {
    const elements = goMap(sortedCpus(cpus).map((cpu) => [cpu, '{}']));
    return [uid, `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})${elements}}}`] as const;
  });
  return goMap(dumped);
}

function textsOf(value: unknown): (readonly [string, string])[] | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value);
  const texts = entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : []));
  return texts.length === entries.length ? texts : undefined;
}

/** Returns all CPUs that have an owner. */
export function assignedCpus({ assignments, pools }: Pick<CpuState, 'assignments' | 'pools'>): CpuSet {
  const assigned = new Set<number>([...pools.values()].flatMap((pool) => [...pool]));
  for (const containers of assignments.values())
    for (const cpus of containers.values()) for (const cpu of cpus) assigned.add(cpu);
  return assigned;
}

/** Returns the CPUs of one container or, without a name, of all containers of the pod. */
export function cpusOf({ assignments, pools }: CpuState, uid: string, container?: string): CpuSet | undefined {
  const own = assignments.get(uid);
  if (own === undefined || container !== undefined) return own?.get(container ?? '');
  const pool = pools.get(uid);
  return assignedCpus({ assignments: new Map([[uid, own]]), pools: new Map(pool === undefined ? [] : [[uid, pool]]) });
}

/** Assigns a pool to a pod, and its parts to the containers. */
export function withPool(
  state: CpuState,
  { uid, pool, parts }: { uid: string; pool: CpuSet; parts: ReadonlyMap<string, CpuSet> },
): CpuState {
  return {
    shared: state.shared.difference(pool),
    assignments: new Map([...state.assignments, [uid, parts]]),
    pools: new Map([...state.pools, [uid, pool]]),
  };
}

export function withAssignment(
  state: CpuState,
  { uid, name, cpus }: { uid: string; name: string; cpus: CpuSet },
): CpuState {
  const assignments = new Map(state.assignments);
  assignments.set(uid, new Map([...(assignments.get(uid) ?? []), [name, cpus]]));
  return { ...state, shared: state.shared.difference(cpus), assignments };
}

/** Returns the CPUs of all other pods to the shared pool. The result is the same object if there are none. */
export function retainPods(state: CpuState, isLive: (uid: string) => boolean): CpuState {
  const kept = new Map([...state.assignments].filter(([uid]) => isLive(uid)));
  if (kept.size === state.assignments.size) return state;
  const left = { assignments: kept, pools: new Map([...state.pools].filter(([uid]) => isLive(uid))) };
  const freed = assignedCpus(state).difference(assignedCpus(left));
  return { shared: state.shared.union(freed), ...left };
}

export interface RestoreFacts {
  readonly policy: string;
  readonly all: CpuSet;
  readonly reserved: CpuSet;
  readonly strictReservation: boolean;
  /** The gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
}

type Kept = Pick<CpuState, 'assignments' | 'pools'>;

const nothing: Kept = { assignments: new Map(), pools: new Map() };

/**
 * Computes the state at the start of the agent. `problem` is the reason why the saved state cannot be used unchanged;
 * upstream does not start then (policy_static.go validateState). This agent keeps every assignment that is still
 * possible, so that running containers keep their CPUs.
 */
export function computeRestoredState(
  saved: CpuCheckpoint | undefined,
  facts: RestoreFacts,
): { state: CpuState; problem: string | undefined } {
  const { policy, all, reserved, strictReservation } = facts;
  const pool = policy === 'static' ? (strictReservation ? all.difference(reserved) : all) : noCpus;
  if (saved === undefined) return { state: { shared: pool, ...nothing }, problem: undefined };
  const kept =
    policy === 'static' && saved.policy === policy ? possible(saved, all.difference(reserved), facts) : nothing;
  const state = { shared: pool.difference(assignedCpus(kept)), ...kept };
  return { state, problem: restoreProblem(saved, state, facts) };
}

function restoreProblem(saved: CpuCheckpoint, state: CpuState, facts: RestoreFacts): string | undefined {
  const { policy, all, reserved, strictReservation, podLevel } = facts;
  if (saved.policy !== policy)
    return `configured policy "${policy}" differs from state checkpoint policy "${saved.policy}"`;
  if (sameCpus(saved.shared, state.shared) && count(saved.assignments) === count(state.assignments)) return undefined;
  if (saved.shared.size === 0 && saved.assignments.size === 0) return undefined;
  if (saved.pools.size > 0 && !podLevel)
    return 'it gives CPUs to pods as a whole, and the feature gate PodLevelResourceManagers is off';
  const inPool = reserved.intersection(saved.shared);
  if (strictReservation && inPool.size > 0)
    return `some of strictly reserved cpus: "${formatCpuSet(inPool)}" are present in defaultCpuSet: "${formatCpuSet(saved.shared)}"`;
  if (!strictReservation && inPool.size < reserved.size)
    return `not all reserved cpus: "${formatCpuSet(reserved)}" are present in defaultCpuSet: "${formatCpuSet(saved.shared)}"`;
  return `current set of available CPUs "${formatCpuSet(all)}" doesn't match with CPUs in state "${formatCpuSet(saved.shared.union(assignedCpus(saved)))}"`;
}

const count = (assignments: CpuAssignments): number =>
  [...assignments.values()].reduce((sum, containers) => sum + containers.size, 0);

/**
 * Returns the assignments of existing CPUs that no other pod has. Containers of one pod may share CPUs. A pod with a
 * pool keeps all of it or nothing, and nothing without the gate.
 */
function possible({ assignments, pools }: Kept, allocatable: CpuSet, { podLevel }: { podLevel: boolean }): Kept {
  const kept = new Map<string, ReadonlyMap<string, CpuSet>>();
  const keptPools = new Map<string, CpuSet>();
  let free = allocatable;
  for (const [uid, containers] of goSortedEntries(assignments)) {
    const pool = pools.get(uid);
    if (pool !== undefined && !(podLevel && isWhole(pool, containers, free))) continue;
    const own = new Map([...containers].filter(([, cpus]) => cpus.size > 0 && cpus.isSubsetOf(free)));
    if (own.size === 0) continue;
    kept.set(uid, own);
    if (pool !== undefined) keptPools.set(uid, pool);
    free = free.difference(pool ?? assignedCpus({ assignments: new Map([[uid, own]]), pools: new Map() }));
  }
  return { assignments: kept, pools: keptPools };
}

function isWhole(pool: CpuSet, containers: ReadonlyMap<string, CpuSet>, free: CpuSet): boolean {
  return pool.isSubsetOf(free) && [...containers.values()].every((cpus) => cpus.size > 0 && cpus.isSubsetOf(pool));
}
