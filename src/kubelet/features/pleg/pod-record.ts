import type { PodUid } from '../../model/ids.ts';
import type {
  ContainerRuntimeStatus,
  ContainerState,
  PodRuntimeStatus,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import { sameContainer, sameSandbox } from './diff.ts';

/** Order of observations: the number is drawn when an observation begins (a list is asked for) or, for own results, when they are in. */
export type Sequence = number;

interface Known<T> {
  status: T;
  seenAt: Sequence;
}

/** How far a container has come in its life, which only ever goes forward. `unknown` may be anything between. */
const PROGRESS: Readonly<Record<ContainerState, number>> = { created: 0, running: 1, unknown: 1, exited: 2 };

/**
 * What two observations of one container come to. Pure.
 * An exit, once known with its time, is written: nothing replaces code or times, so that `unknown`, a late answer from before the exit,
 * or a runtime that lost its memory cannot change it. Only the reason may still become OOMKilled, which containerd learns apart from the exit,
 * and a message may come, which no event carries.
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
  const step = PROGRESS[seen.state] - PROGRESS[known.state];
  if (step < 0 || (step === 0 && !seenIsNewer)) return known;
  if (sameContainer(known, seen)) return known;
  return seen.sandboxId === '' ? { ...seen, sandboxId: known.sandboxId } : seen;
}

/** Ids that were removed, and when that was learnt. Ids are never used again, so late news of them can be told. Bounded: the oldest go. */
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

  /** Whether an observation begun at `seq` is refuted: it saw what was already known to be gone. One begun later is believed: the removal failed. */
  refutes(id: string, seq: Sequence): boolean {
    const goneAt = this.#at.get(id);
    if (goneAt === undefined) return false;
    if (goneAt >= seq) return true;
    this.#at.delete(id);
    return false;
  }
}

export interface PodReading {
  name: string;
  namespace: string;
  sandboxes: readonly SandboxRuntimeStatus[];
  containers: readonly ContainerRuntimeStatus[];
}

/**
 * All that is known of one pod in the runtime.
 * 1. A container's state only goes forward; its exit record is written once.
 * 2. An observation never undoes what was learnt after it began: not a state, not a presence, not an absence.
 * 3. `status` is a fresh immutable value after each change, and the same arrays while nothing changes.
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

  /** A reading of the whole pod: what it does not show is gone, unless it was learnt of after the reading began. */
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
   * What an event carried of the pod as it was at some moment up to now. It may add, and move forward what is known:
   * a container's state, a sandbox from ready to not. It never takes away and never goes back.
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

  /** Takes stock: whether anything changed since the last time, and how the pod stands. */
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
 * By attempt before time: attempts only go up, while the wall clock that stamps creation may be set back. A container that runs comes before
 * all: a create that was given up may take effect late, and must not hide the run that came in its place.
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
