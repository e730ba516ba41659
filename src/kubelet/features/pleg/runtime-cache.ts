import type { Clock } from '../../../base/clock.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import type { PodReading, Sequence } from './pod-record.ts';
import { PodRecord, Removals } from './pod-record.ts';

/** `own`: the result of the agent's own call. `observed`: read from the runtime. */
export type ChangeOrigin = 'own' | 'observed';

export interface CacheChange {
  readonly uid: PodUid;
  readonly before: PodRuntimeStatus | undefined;
  /** The new status; undefined if nothing of the pod is left. */
  readonly after: PodRuntimeStatus | undefined;
  readonly origin: ChangeOrigin;
}

/**
 * Why a pod could not be read, since when (monotonic milliseconds), and how many times in a row. The pod's last good
 * status stays in the cache.
 */
export interface ReadTrouble {
  readonly error: unknown;
  readonly sinceMs: number;
  readonly failures: number;
}

/** The part of a pod that a list shows. */
export type PodIdentity = Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>;

/** The number of recently removed ids that are remembered, so that their late events are recognised. */
const REMEMBERED_REMOVALS = 4096;

/**
 * The state of every pod of the node, as read from the runtime. Invariants:
 * 1. Each change of a pod is atomic: readers see the pod before it or after it.
 * 2. Older observations never undo newer ones (see PodRecord). Sequences from `beginObservation` define the order.
 * 3. Listeners are notified after `get` shows the change, in the order of changes, and only if something changed.
 * 4. `ownerOf` knows exactly the ids of sandboxes and containers in the cache.
 */
export class RuntimeCache {
  readonly #clock: Clock;
  readonly #pods = new Map<PodUid, PodRecord>();
  readonly #status = new Map<PodUid, PodRuntimeStatus>();
  readonly #owners = new Map<string, PodUid>();
  readonly #removals = new Removals(REMEMBERED_REMOVALS);
  /** The pods of the last list that are not read yet. */
  readonly #unread = new Map<PodUid, PodIdentity>();
  /** The pods with a call of the agent whose result is unknown. */
  readonly #unsure = new Set<PodUid>();
  readonly #unsureListeners = new Set<(uid: PodUid) => void>();
  /** Containers whose exit only an event has reported. The runtime's status may still add a message or an OOM kill. */
  readonly #endedByEvent = new Set<string>();
  #everListed = false;
  readonly #troubles = new Map<PodUid, ReadTrouble>();
  readonly #waiters = new Map<PodUid, Set<() => void>>();
  readonly #listeners = new Set<(change: CacheChange) => void>();
  #sequence: Sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  // ---- Reading ----

  /**
   * Returns the status; undefined if the runtime has nothing of the pod, or if nothing is known before the first
   * relist.
   */
  get(uid: PodUid): PodRuntimeStatus | undefined {
    return this.#status.get(uid);
  }

  getOrEmpty(pod: { uid: PodUid; name: string; namespace: string }): PodRuntimeStatus {
    return this.#status.get(pod.uid) ?? emptyPodRuntimeStatus(pod, this.#clock.monotonicMs());
  }

  all(): Iterable<PodRuntimeStatus> {
    return this.#status.values();
  }

  get podCount(): number {
    return this.#status.size;
  }

  /** Returns the pod of a container's or sandbox's id. */
  ownerOf(id: string): PodUid | undefined {
    return this.#owners.get(id);
  }

  container(id: string): ContainerRuntimeStatus | undefined {
    return this.#recordOf(id)?.container(id);
  }

  sandbox(id: string): SandboxRuntimeStatus | undefined {
    return this.#recordOf(id)?.sandbox(id);
  }

  /** Whether the runtime has confirmed the exit, and not only an event. */
  isConfirmed(id: string): boolean {
    return !this.#endedByEvent.has(id);
  }

  /** Whether the id was removed from the cache recently. */
  wasRemoved(id: string): boolean {
    return this.#removals.has(id);
  }

  /**
   * Whether `get` is reliable for this pod. It is false before the first list of the node, and while the runtime is
   * known to have something of the pod that could not be read. Then `undefined` does not mean that the pod does not
   * exist, and nothing may be created for it.
   */
  isRead(uid: PodUid): boolean {
    return this.#everListed && !this.#unread.has(uid);
  }

  /**
   * Whether the agent may start or create something for the pod according to `get`: the pod was read, the last read
   * succeeded, and the results of all calls for it are known.
   */
  isSure(uid: PodUid): boolean {
    return this.isRead(uid) && !this.#troubles.has(uid) && !this.#unsure.has(uid);
  }

  /** Returns the pods that the runtime has but that were not read yet. They are not in `all`. */
  unread(): Iterable<PodIdentity> {
    return this.#unread.values();
  }

  troubleOf(uid: PodUid): ReadTrouble | undefined {
    return this.#troubles.get(uid);
  }

  /** Resolves to the new status after the next change of the pod, or early when `signal` aborts. Never rejects. */
  whenChanged(uid: PodUid, signal?: AbortSignal): Promise<PodRuntimeStatus | undefined> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters);
      const wake = (): void => {
        waiters.delete(wake);
        if (waiters.size === 0 && this.#waiters.get(uid) === waiters) this.#waiters.delete(uid);
        signal?.removeEventListener('abort', wake);
        resolve(this.get(uid));
      };
      waiters.add(wake);
      if (signal?.aborted === true) wake();
      else signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Notifies the listener of each change. Returns a function that unsubscribes. */
  onChange(listener: (change: CacheChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  // ---- The agent's own results. `observed` is set if an answer shows what the agent did not do. ----

  noteSandbox(status: SandboxRuntimeStatus, origin: ChangeOrigin = 'own'): void {
    if (this.#removals.has(status.id)) return;
    const names = { name: status.podName, namespace: status.podNamespace };
    this.#change(status.podUid, names, origin, (record, seq) => record.upsertSandbox(status, seq));
  }

  noteContainer(
    pod: { uid: PodUid; name: string; namespace: string },
    status: ContainerRuntimeStatus,
    origin: ChangeOrigin = 'own',
  ): void {
    if (this.#removals.has(status.id)) return;
    if (status.state === 'exited') this.#endedByEvent.delete(status.id);
    this.#change(pod.uid, pod, origin, (record, seq) => record.upsertContainer(status, seq));
  }

  noteContainerRemoved(uid: PodUid, id: ContainerId): void {
    this.#noteRemoved(uid, id);
  }

  noteSandboxRemoved(uid: PodUid, id: SandboxId): void {
    this.#noteRemoved(uid, id);
  }

  /**
   * Records that a call of the agent for this pod failed or was aborted, and may still have taken effect. `isSure` is
   * false until the pod is read again.
   */
  noteUnsure(uid: PodUid): void {
    this.#unsure.add(uid);
    for (const listener of this.#unsureListeners) listener(uid);
  }

  /** Calls `listener` with pods that must be read again. Returns a function that unsubscribes. */
  onUnsure(listener: (uid: PodUid) => void): () => void {
    this.#unsureListeners.add(listener);
    return () => void this.#unsureListeners.delete(listener);
  }

  // ---- Observations ----

  /** Must be called before the runtime is called. */
  beginObservation(): Sequence {
    return ++this.#sequence;
  }

  /** Records that the node was listed. `unread` are the listed pods that are not known yet. */
  noteListed(unread: Iterable<PodIdentity>): void {
    this.#everListed = true;
    for (const pod of unread) this.#unread.set(pod.uid, pod);
  }

  /** Forgets unread pods that are no longer in a list. */
  forgetUnread(isGone: (uid: PodUid) => boolean): void {
    for (const uid of this.#unread.keys()) if (isGone(uid)) this.#unread.delete(uid);
  }

  /** Stores a full read of a pod. An empty one means that the pod was removed. */
  commitReading(uid: PodUid, seq: Sequence, reading: PodReading): void {
    this.#troubles.delete(uid);
    this.#unread.delete(uid);
    this.#unsure.delete(uid);
    // A read keeps only confirmed exits of the cache, so an exit in it is the runtime's own answer.
    for (const { id, state } of reading.containers) if (state === 'exited') this.#endedByEvent.delete(id);
    if (!this.#pods.has(uid) && reading.sandboxes.length === 0 && reading.containers.length === 0) return;
    this.#change(uid, reading, 'observed', (record) => record.applyReading(reading, seq));
  }

  /** Stores the state of one container whose id is in the cache; undefined means that it does not exist. */
  commitContainer(id: string, seq: Sequence, status: ContainerRuntimeStatus | undefined): void {
    // An answer from before the exit that an event reported meanwhile confirms nothing.
    if (status === undefined || status.state === 'exited') this.#endedByEvent.delete(id);
    const uid = this.#owners.get(id);
    if (uid === undefined) return;
    this.#change(uid, undefined, 'observed', (record) =>
      status === undefined ? record.remove(id, seq) : record.upsertContainer(status, seq),
    );
  }

  /** Stores the state of one sandbox. */
  commitSandbox(id: string, seq: Sequence, status: SandboxRuntimeStatus | undefined): void {
    const uid = this.#owners.get(id);
    if (uid === undefined) return;
    this.#change(uid, undefined, 'observed', (record) =>
      status === undefined ? record.remove(id, seq) : record.upsertSandbox(status, seq),
    );
  }

  /**
   * Stores a snapshot of unknown age from an event (see PodRecord.applySnapshot). A snapshot of an unknown sandbox is
   * ignored, because containerd stores events for an agent that is disconnected, and the sandbox may have been removed
   * since.
   */
  commitSnapshot(snapshot: { sandbox: SandboxRuntimeStatus; containers: readonly ContainerRuntimeStatus[] }): void {
    const { sandbox } = snapshot;
    if (sandbox.podUid === '' || this.ownerOf(sandbox.id) === undefined) return;
    const names = { name: sandbox.podName, namespace: sandbox.podNamespace };
    for (const { id, state } of snapshot.containers)
      if (state === 'exited' && this.container(id)?.state !== 'exited') this.#noteEndedByEvent(id);
    this.#change(sandbox.podUid, names, 'observed', (record, seq) =>
      record.applySnapshot(sandbox, snapshot.containers, seq),
    );
  }

  /**
   * Stores the exit of a running container from an event. The reason is derived from the code, as the runtime will
   * report it (containerd: toCRIContainerStatus); an OOM kill still replaces it (see mergeContainer). Returns whether
   * it was applied.
   */
  commitExit(id: string, exit: { exitCode: number; finishedAtMs: number; message?: string }): boolean {
    const known = this.container(id);
    const uid = this.#owners.get(id);
    if (known?.state !== 'running' || uid === undefined) return false;
    const ended: ContainerRuntimeStatus = {
      ...known,
      ...exit,
      state: 'exited',
      reason: exit.exitCode === 0 ? 'Completed' : 'Error',
    };
    this.#noteEndedByEvent(id);
    this.#change(uid, undefined, 'observed', (record, seq) => record.upsertContainer(ended, seq));
    return true;
  }

  noteTrouble(uid: PodUid, error: unknown): ReadTrouble {
    const earlier = this.#troubles.get(uid);
    const trouble: ReadTrouble = {
      error,
      sinceMs: earlier?.sinceMs ?? this.#clock.monotonicMs(),
      failures: (earlier?.failures ?? 0) + 1,
    };
    this.#troubles.set(uid, trouble);
    return trouble;
  }

  // ---- Internals ----

  #noteEndedByEvent(id: string): void {
    this.#endedByEvent.add(id);
    if (this.#endedByEvent.size > REMEMBERED_REMOVALS)
      this.#endedByEvent.delete(this.#endedByEvent.values().next().value as string);
  }

  #recordOf(id: string): PodRecord | undefined {
    const uid = this.#owners.get(id);
    return uid === undefined ? undefined : this.#pods.get(uid);
  }

  #noteRemoved(uid: PodUid, id: string): void {
    if (this.#pods.has(uid)) this.#change(uid, undefined, 'own', (record, seq) => record.remove(id, seq));
    else this.#removals.add(id, this.beginObservation());
  }

  #change(
    uid: PodUid,
    names: { name: string; namespace: string } | undefined,
    origin: ChangeOrigin,
    apply: (record: PodRecord, seq: Sequence) => void,
  ): void {
    const record =
      this.#pods.get(uid) ??
      new PodRecord(uid, { name: names?.name ?? '', namespace: names?.namespace ?? '' }, this.#removals);
    apply(record, origin === 'own' ? this.beginObservation() : this.#sequence);
    const { changed, before, after } = record.settle(this.#clock.monotonicMs());
    const existed = this.#status.has(uid);
    if (record.isEmpty) {
      this.#status.delete(uid);
      this.#pods.delete(uid);
    } else {
      this.#pods.set(uid, record);
      this.#status.set(uid, after);
    }
    if (!changed) return;
    this.#reindex(uid, before, after);
    const change: CacheChange = {
      uid,
      before: existed ? before : undefined,
      after: record.isEmpty ? undefined : after,
      origin,
    };
    for (const listener of this.#listeners) listener(change);
    for (const wake of [...(this.#waiters.get(uid) ?? [])]) wake();
  }

  #reindex(uid: PodUid, before: PodRuntimeStatus, after: PodRuntimeStatus): void {
    const left = new Set<string>();
    for (const part of [...before.sandboxes, ...before.containers]) left.add(part.id);
    for (const part of [...after.sandboxes, ...after.containers]) {
      left.delete(part.id);
      this.#owners.set(part.id, uid);
    }
    for (const id of left) this.#owners.delete(id);
  }
}
