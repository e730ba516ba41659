import { goJson } from '../../../api/go-json.ts';
import { isRecord } from '../../../base/json-record.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet, noCpus, parseCpuSet, sameCpus } from '../../model/cpu-set.ts';
import { fnv32a } from '../../../base/fnv32a.ts';
import { goMap, goSortedEntries } from '../../model/go-checksum.ts';

/** Exclusive CPUs by the UID of the pod and the name of the container. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

/** What the CPU manager has given to whom. Never changed in place. */
export interface CpuState {
  /** The CPUs of all containers without exclusive ones; includes the reserved CPUs unless the reservation is strict. */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
}

/** The state as upstream saves it in `cpu_manager_state`. */
export interface CpuCheckpoint extends CpuState {
  readonly policy: string;
}

const names = { policy: 'policyName', shared: 'defaultCpuSet', entries: 'entries' } as const;

/** Upstream: cpumanager/state CPUManagerCheckpointV2. */
export function encodeCpuCheckpoint({ policy, shared, assignments }: CpuCheckpoint): string {
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
    checksum: checksumOf(policy, formatCpuSet(shared), entries),
  };
  return goJson(value);
}

/** A string says why the text is not one that an agent wrote. The cost is linear in its length. */
export function decodeCpuCheckpoint(text: string): CpuCheckpoint | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not valid JSON';
  }
  if (!isRecord(value)) return 'it is not an object';
  const { policyName, defaultCpuSet, entries = {}, checksum } = value;
  if (typeof policyName !== 'string' || typeof defaultCpuSet !== 'string' || !isRecord(entries))
    return 'it has another form';
  const shared = parseCpuSet(defaultCpuSet);
  const pods = Object.entries(entries).map(([uid, own]) => [uid, textsOf(own)] as const);
  const named = pods.flatMap(([uid, own]) => (own === undefined ? [] : [[uid, own] as const]));
  if (shared === undefined || named.length < pods.length) return 'it has another form';
  // Files of the oldest agents have none (upstream: VerifyChecksum).
  const expected = checksumOf(
    policyName,
    defaultCpuSet,
    goSortedEntries(named).map(([uid, own]) => [uid, goSortedEntries(own)] as const),
  );
  if (checksum !== 0 && checksum !== undefined && checksum !== expected) return 'its checksum is wrong';
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
  return { policy: policyName, shared: new Set(shared), assignments };
}

function checksumOf(
  policy: string,
  shared: string,
  entries: readonly (readonly [string, readonly (readonly [string, string])[]])[],
): number {
  const dumped = goMap(entries.map(([uid, own]) => [uid, goMap(own)]));
  return fnv32a(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policy} DefaultCPUSet:(string)${shared} Entries:(map[string]map[string]string)${dumped} Checksum:(checksum.Checksum)0}`,
  );
}

function textsOf(value: unknown): (readonly [string, string])[] | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value);
  const texts = entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : []));
  return texts.length === entries.length ? texts : undefined;
}

/** All CPUs that have an owner. */
export function assignedCpus(assignments: CpuAssignments): CpuSet {
  const assigned = new Set<number>();
  for (const containers of assignments.values())
    for (const cpus of containers.values()) for (const cpu of cpus) assigned.add(cpu);
  return assigned;
}

/** CPUs of one container; of all containers of the pod without a name. */
export function cpusOf({ assignments }: CpuState, uid: string, container?: string): CpuSet | undefined {
  const own = assignments.get(uid);
  if (own === undefined || container !== undefined) return own?.get(container ?? '');
  return assignedCpus(new Map([[uid, own]]));
}

export function withAssignment(
  state: CpuState,
  { uid, name, cpus }: { uid: string; name: string; cpus: CpuSet },
): CpuState {
  const assignments = new Map(state.assignments);
  assignments.set(uid, new Map([...(assignments.get(uid) ?? []), [name, cpus]]));
  return { shared: state.shared.difference(cpus), assignments };
}

/** Gives the CPUs of all other pods back to the shared pool. The same object when there are none. */
export function retainPods(state: CpuState, isLive: (uid: string) => boolean): CpuState {
  const kept = new Map([...state.assignments].filter(([uid]) => isLive(uid)));
  if (kept.size === state.assignments.size) return state;
  const freed = assignedCpus(state.assignments).difference(assignedCpus(kept));
  return { shared: state.shared.union(freed), assignments: kept };
}

export interface RestoreFacts {
  readonly policy: string;
  readonly all: CpuSet;
  readonly reserved: CpuSet;
  readonly strictReservation: boolean;
}

/**
 * The state to start with. `problem` says why the saved one cannot be used as it is; upstream does not start then
 * (policy_static.go validateState). Here each assignment that is still possible is kept, so that running containers
 * keep their CPUs.
 */
export function computeRestoredState(
  saved: CpuCheckpoint | undefined,
  { policy, all, reserved, strictReservation }: RestoreFacts,
): { state: CpuState; problem: string | undefined } {
  const pool = policy === 'static' ? (strictReservation ? all.difference(reserved) : all) : noCpus;
  if (saved === undefined) return { state: { shared: pool, assignments: new Map() }, problem: undefined };
  const kept =
    policy === 'static' && saved.policy === policy ? possible(saved.assignments, all.difference(reserved)) : new Map();
  const state = { shared: pool.difference(assignedCpus(kept)), assignments: kept };
  return { state, problem: restoreProblem(saved, state, { policy, all, reserved, strictReservation }) };
}

function restoreProblem(saved: CpuCheckpoint, state: CpuState, facts: RestoreFacts): string | undefined {
  const { policy, all, reserved, strictReservation } = facts;
  if (saved.policy !== policy)
    return `configured policy "${policy}" differs from state checkpoint policy "${saved.policy}"`;
  if (sameCpus(saved.shared, state.shared) && count(saved.assignments) === count(state.assignments)) return undefined;
  if (saved.shared.size === 0 && saved.assignments.size === 0) return undefined;
  const inPool = reserved.intersection(saved.shared);
  if (strictReservation && inPool.size > 0)
    return `some of strictly reserved cpus: "${formatCpuSet(inPool)}" are present in defaultCpuSet: "${formatCpuSet(saved.shared)}"`;
  if (!strictReservation && inPool.size < reserved.size)
    return `not all reserved cpus: "${formatCpuSet(reserved)}" are present in defaultCpuSet: "${formatCpuSet(saved.shared)}"`;
  return `current set of available CPUs "${formatCpuSet(all)}" doesn't match with CPUs in state "${formatCpuSet(saved.shared.union(assignedCpus(saved.assignments)))}"`;
}

const count = (assignments: CpuAssignments): number =>
  [...assignments.values()].reduce((sum, containers) => sum + containers.size, 0);

/** The assignments of CPUs that exist and that no other pod has. Containers of one pod may share theirs. */
function possible(assignments: CpuAssignments, allocatable: CpuSet): Map<string, ReadonlyMap<string, CpuSet>> {
  const kept = new Map<string, ReadonlyMap<string, CpuSet>>();
  let free = allocatable;
  for (const [uid, containers] of goSortedEntries(assignments)) {
    const own = new Map([...containers].filter(([, cpus]) => cpus.size > 0 && cpus.isSubsetOf(free)));
    if (own.size === 0) continue;
    kept.set(uid, own);
    free = free.difference(assignedCpus(new Map([[uid, own]])));
  }
  return kept;
}
