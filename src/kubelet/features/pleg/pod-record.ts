import type { PodUid } from '../../model/ids.ts';
import type {
  ContainerRuntimeStatus,
  ContainerState,
  PodRuntimeStatus,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import { sameContainer, sameSandbox } from './diff.ts';

/**
 * The order of observations. The number is assigned when an observation begins (a list is requested) or, for the
 * agent's own results, when they arrive.
 */
export type Sequence = number;

interface Known<T> {
  status: T;
  seenAt: Sequence;
}

/** The position of a container in its life cycle, which only advances. `unknown` may be any of them. */
const progress: Readonly<Record<ContainerState, number>> = { created: 0, running: 1, unknown: 1, exited: 2 };

/**
 * Merges two observations of one container. When an exit is known with its time, its code and times are final. So
 * `unknown`, a late answer from before the exit, or a runtime that lost its state cannot change it. Only two things may
 * still change: the reason may become OOMKilled, which containerd reports separately from the exit, and a message may
 * be added, which no event contains.
 */
export function mergeContainer(
  known: ContainerRuntimeStatus,
  seen: ContainerRuntimeStatus,
  seenIsNewer: boolean,
): ContainerRuntimeStatus {
  if (known.state === 'exited' && known.finishedAtMs > 0) {
    if (seen.state !== 'exited' || seen.finishedAtMs !== known.finishedAtMs) return known;
    if (seen.reason === 'OOMKilled' && known.reason !== 'OOMKilled')
      return { ...known, reason: seen.reason, message: seen.message === '' ? known.message : seen.message };
    return known.message === '' && seen.message !== '' ? { ...known, message: seen.message } : known;
  }
  const step = progress[seen.state] - progress[known.state];
  if (step < 0 || (step === 0 && !seenIsNewer)) return known;
  if (sameContainer(known, seen)) return known;
  return seen.sandboxId === '' ? { ...seen, sandboxId: known.sandboxId } : seen;
}

/**
 * Removed ids, with the time of the removal. Ids are never reused, so late events about them can be recognised. The
 * oldest are dropped above a limit.
 */
export class Removals {
  readonly #at = new Map<string, Sequence>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(id: string, seq: Sequence): void {
    this.#at.set(id, seq);
    if (this.#at.size > this.#limit) this.#at.delete(this.#at.keys().next().value as string);
  }

  has(id: string): boolean {
    return this.#at.has(id);
  }

  /**
   * Whether an observation begun at `seq` is outdated, because it shows an id that was already known to be removed. An
   * observation begun later is valid: the removal failed.
   */
  refutes(id: string, seq: Sequence): boolean {
    const goneAt = this.#at.get(id);
    if (goneAt === undefined) return false;
    if (goneAt >= seq) return true;
    this.#at.delete(id);
    return false;
  }
}

export interface PodReading {
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly SandboxRuntimeStatus[];
  readonly containers: readonly ContainerRuntimeStatus[];
}

/**
 * The known state of one pod in the runtime. Invariants:
 * 1. A container's state only advances. Its exit record is final.
 * 2. An observation never undoes what was observed after it began, whether a state, a presence or an absence.
 * 3. `status` is a new immutable value after each change. It keeps the same arrays while nothing changes.
 */
export class PodRecord {
  readonly uid: PodUid;
  readonly #sandboxes = new Map<string, Known<SandboxRuntimeStatus>>();
  readonly #containers = new Map<string, Known<ContainerRuntimeStatus>>();
  readonly #removals: Removals;
  #name: string;
  #namespace: string;
  #dirty = false;
  #status: PodRuntimeStatus;

  constructor(uid: PodUid, names: { name: string; namespace: string }, removals: Removals) {
    this.uid = uid;
    this.#removals = removals;
    this.#name = names.name;
    this.#namespace = names.namespace;
    this.#status = { uid, ...names, sandboxes: [], containers: [], observedAtMs: 0 };
  }

  get isEmpty(): boolean {
    return this.#sandboxes.size === 0 && this.#containers.size === 0;
  }

  has(id: string): boolean {
    return this.#containers.has(id) || this.#sandboxes.has(id);
  }

  container(id: string): ContainerRuntimeStatus | undefined {
    return this.#containers.get(id)?.status;
  }

  sandbox(id: string): SandboxRuntimeStatus | undefined {
    return this.#sandboxes.get(id)?.status;
  }

  /** Applies a full read of the pod. What it does not show was removed, unless it was observed after the read began. */
  applyReading(reading: PodReading, seq: Sequence): void {
    this.#name = reading.name || this.#name;
    this.#namespace = reading.namespace || this.#namespace;
    const present = new Set<string>();
    for (const sandbox of reading.sandboxes) {
      present.add(sandbox.id);
      this.upsertSandbox(sandbox, seq);
    }
    for (const container of reading.containers) {
      present.add(container.id);
      this.upsertContainer(container, seq);
    }
    for (const known of [this.#sandboxes, this.#containers]) {
      for (const [id, { seenAt }] of known) if (!present.has(id) && seenAt <= seq) this.remove(id, seq);
    }
  }

  upsertContainer(seen: ContainerRuntimeStatus, seq: Sequence): void {
    if (this.#removals.refutes(seen.id, seq)) return;
    const known = this.#containers.get(seen.id);
    if (known === undefined) {
      this.#containers.set(seen.id, { status: seen, seenAt: seq });
      this.#dirty = true;
      return;
    }
    const merged = mergeContainer(known.status, seen, seq >= known.seenAt);
    if (merged !== known.status) this.#dirty = true;
    known.status = merged;
    known.seenAt = Math.max(known.seenAt, seq);
  }

  upsertSandbox(seen: SandboxRuntimeStatus, seq: Sequence): void {
    if (this.#removals.refutes(seen.id, seq)) return;
    const known = this.#sandboxes.get(seen.id);
    if (known === undefined) {
      this.#sandboxes.set(seen.id, { status: seen, seenAt: seq });
      this.#dirty = true;
      return;
    }
    if (seq < known.seenAt) return;
    if (!sameSandbox(known.status, seen)) {
      known.status = seen;
      this.#dirty = true;
    }
    known.seenAt = seq;
  }

  remove(id: string, seq: Sequence): void {
    if (this.#containers.delete(id) || this.#sandboxes.delete(id)) this.#dirty = true;
    this.#removals.add(id, seq);
  }

  /**
   * Applies the pod's state in an event, as of some earlier moment. It may add containers and advance known states: a
   * container's state, or a sandbox from ready to not ready. It never removes or reverts anything.
   */
  applySnapshot(sandbox: SandboxRuntimeStatus, containers: readonly ContainerRuntimeStatus[], now: Sequence): void {
    const known = this.#sandboxes.get(sandbox.id);
    if (known === undefined) {
      if (!this.#removals.has(sandbox.id)) this.upsertSandbox(sandbox, now);
    } else if (known.status.ready && !sandbox.ready) {
      known.status = { ...known.status, ready: false };
      this.#dirty = true;
    }
    for (const container of containers)
      if (!this.#removals.has(container.id))
        this.upsertContainer(container, this.#containers.has(container.id) ? 0 : now);
  }

  /** Publishes the state. Returns whether anything changed since the last call, and the new status. */
  settle(observedAtMs: number): { changed: boolean; before: PodRuntimeStatus; after: PodRuntimeStatus } {
    const before = this.#status;
    const changed = this.#dirty;
    this.#dirty = false;
    const { sandboxes, containers } = changed
      ? { sandboxes: newestFirst(this.#sandboxes), containers: newestFirst(this.#containers) }
      : before;
    this.#status = {
      uid: this.uid,
      name: this.#name,
      namespace: this.#namespace,
      sandboxes,
      containers,
      observedAtMs: Math.max(before.observedAtMs, observedAtMs),
    };
    return { changed, before, after: this.#status };
  }
}

/**
 * Sorts by attempt and then by time: attempts only increase, but the wall clock may be set back. A running container
 * comes before all others, because an aborted create may take effect late and must not hide the container that replaced
 * it.
 */
function newestFirst<T extends { attempt: number; createdAtMs: number; id: string; state?: string }>(
  known: ReadonlyMap<string, Known<T>>,
): T[] {
  const runs = (status: T): number => (status.state === 'running' ? 1 : 0);
  return [...known.values()]
    .map(({ status }) => status)
    .sort(
      (left, right) =>
        runs(right) - runs(left) ||
        right.attempt - left.attempt ||
        right.createdAtMs - left.createdAtMs ||
        (left.id < right.id ? 1 : -1),
    );
}
