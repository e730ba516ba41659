import type { Clock, Timer } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import { runtimeAnnotations, runtimeLabels } from '../../../api/annotations.ts';
import type { PodLifecycleEvent } from '../../model/pod-lifecycle-event.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { EventSourceKind, RuntimeEvent, RuntimeEventSource } from '../../ports/runtime.ts';
import { computePodLifecycleEvents } from './diff.ts';
import { EventChecks } from './event-checks.ts';
import { EventStream } from './event-stream.ts';
import type { RuntimeReader } from './inspect.ts';
import { unlessGone } from './inspect.ts';
import { INSPECTION_LIMIT_MS, Inspector } from './inspector.ts';
import { TerminationMessageReader } from './termination-message-reader.ts';
import { relist } from './relist.ts';
import type { CacheChange, ChangeOrigin, RuntimeCache } from './runtime-cache.ts';

/**
 * The interval of relists without a stream, as in upstream's generic PLEG. With a stream they are only a fallback
 * (upstream's evented PLEG: 300 s).
 */
const POLLING_PERIOD_MS = 1000;
const SAFETY_NET_PERIOD_MS = 60_000;
/** The relist threshold (upstream: 3 minutes). */
const UNHEALTHY_AFTER_MS = 3 * 60_000;
/** How long an unknown id is left alone. Most of them belong to the agent's own calls, whose results are pending. */
const UNKNOWN_ID_GRACE_MS = 250;
/** The maximum number of remembered ids of foreign containers, and of containers with an OOM kill. */
const REMEMBERED_IDS = 4096;
/** The time limit of adoption, in case calls hang. Pods that could not be read are marked in the cache. */
const ADOPTION_PATIENCE_MS = 1000;
/** The intervals at which a pod in transition is read again. The last one repeats until the deadline. */
const transitionMs = [5, 10, 20, 40, 80, 160, 320, 640, 1000] as const;

export interface PlegOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly runtime: RuntimeReader;
  /** The sources in the order of preference: CRI's, then containerd's own. The list may be empty. */
  readonly sources: readonly RuntimeEventSource[];
  readonly cache: RuntimeCache;
  /** Called after the cache shows the change, including changes that the agent made (`own`). It must not throw. */
  readonly onEvent: (event: PodLifecycleEvent, origin: ChangeOrigin) => void;
  /**
   * Returns the termination message of an ended container, from the files of the node. Without it, the message arrives
   * with the runtime's status, some time after the exit.
   */
  readonly terminationMessage?: (ended: ContainerRuntimeStatus) => Promise<string>;
  /** Called after each relist, for metrics, with its duration in milliseconds and the number of inspected pods. */
  readonly onRelist?: (durationMs: number, inspected: number) => void;
  /** Called with the duration of reading each single pod. */
  readonly onPodRead?: (durationMs: number) => void;
}

export interface PlegHealth {
  readonly ok: boolean;
  /** The reason in upstream's words; empty if it is healthy. */
  readonly reason: string;
  /** The monotonic time of the last successful relist or event. */
  readonly lastActiveMs: number | undefined;
}

/**
 * The pod lifecycle event generator: updates the cache from the runtime and reports changes. Invariants:
 * 1. Events are hints. Every change of the cache comes from the runtime's answers, or from an event's own status if it
 *    advances the state.
 * 2. With a stream, only the objects of events are read, plus a slow relist. Without one, the node is listed each
 *    second.
 * 3. A pod that cannot be read keeps its status, is marked in the cache, and is read again. Other pods are not
 *    affected.
 */
export class Pleg {
  readonly #options: PlegOptions;
  readonly #inspector: Inspector;
  readonly #checks: EventChecks;
  readonly #stream: EventStream;
  readonly #terminationMessages: TerminationMessageReader;
  readonly #loop: Loop;
  readonly #unknown = new Map<string, { kind: RuntimeEvent['kind']; timer: Timer }>();
  readonly #foreign = new Set<string>();
  readonly #oomSeen = new Set<string>();
  readonly #transitions = new Map<PodUid, { untilMs: number; step: number; timer: Timer | undefined }>();
  readonly #retries = new Map<PodUid, Timer>();
  readonly #adopted: Promise<void>;
  #isAdopted = false;
  #isFirstListIn = false;
  #markAdopted!: () => void;
  #lastRelistMs: number | undefined;
  #lastEventMs: number | undefined;
  #relistFailed = false;
  #forgetListener: (() => void) | undefined;
  #stopped = false;

  constructor(options: PlegOptions) {
    const {
      clock,
      random,
      log,
      runtime,
      cache,
      sources,
      terminationMessage = async ({ message }) => message,
    } = options;
    this.#options = options;
    this.#terminationMessages = new TerminationMessageReader({ clock, log, read: terminationMessage });
    this.#inspector = new Inspector({
      clock,
      runtime,
      cache,
      onFailure: (uid, error) => this.#onInspectionFailure(uid, error),
      onRead: options.onPodRead,
    });
    this.#checks = new EventChecks({ clock, cache, inspector: this.#inspector, oomSeen: this.#oomSeen });
    this.#stream = new EventStream({
      clock,
      random,
      log,
      sources,
      onEvent: (event) => this.#onRuntimeEvent(event),
      onState: () => this.#loop.wake(),
    });
    this.#loop = createLoop({
      name: 'pleg',
      clock,
      random,
      log,
      periodMs: () => (this.#stream.kind === undefined ? POLLING_PERIOD_MS : SAFETY_NET_PERIOD_MS),
      jitterFactor: 0.1,
      pass: () => this.#relist(),
    });
    this.#adopted = new Promise((resolve) => {
      this.#markAdopted = resolve;
    });
    void this.#adopted.then(() => (this.#isAdopted = true));
  }

  start(): void {
    const { cache } = this.#options;
    if (this.#forgetListener === undefined) {
      const forgets = [
        cache.onChange((change) => this.#onCacheChange(change)),
        cache.onUnsure((uid) => void this.#inspector.refresh(uid).catch(() => undefined)),
      ];
      this.#forgetListener = () => forgets.forEach((forget) => forget());
    }
    this.#stream.start();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#checks.stop();
    this.#inspector.stop();
    for (const { timer } of this.#unknown.values()) timer.cancel();
    for (const { timer } of this.#transitions.values()) timer?.cancel();
    for (const timer of this.#retries.values()) timer.cancel();
    await Promise.all([this.#stream.stop(), this.#loop.stop()]);
    this.#forgetListener?.();
  }

  /**
   * Resolves when the node was first listed, and each pod was inspected, could not be inspected, or a second has
   * passed. For pods that hang then, `isRead` of the cache is false.
   */
  whenAdopted(): Promise<void> {
    return this.#adopted;
  }

  /** Whether `whenAdopted` has resolved. */
  get isAdopted(): boolean {
    return this.#isAdopted;
  }

  /**
   * Reads the pod from the runtime after this call. Rejects if that fails. Resolves to undefined if nothing of the pod
   * exists.
   */
  refresh(uid: PodUid): Promise<PodRuntimeStatus | undefined> {
    return this.#inspector.refresh(uid);
  }

  /**
   * Must be called before a change of the pod without a reliable event. The pod is polled at growing intervals until it
   * changes or the deadline passes.
   */
  expectChange(uid: PodUid, withinMs: number): void {
    const untilMs = this.#options.clock.monotonicMs() + withinMs;
    const known = this.#transitions.get(uid);
    if (known !== undefined) {
      known.untilMs = Math.max(known.untilMs, untilMs);
      return;
    }
    this.#transitions.set(uid, { untilMs, step: 0, timer: undefined });
    this.#armTransition(uid);
  }

  /** The kind of the open event stream; undefined while the node is polled. */
  get streamKind(): EventSourceKind | undefined {
    return this.#stream.kind;
  }

  health(): PlegHealth {
    const lastActiveMs = Math.max(this.#lastRelistMs ?? -Infinity, this.#lastEventMs ?? -Infinity);
    if (lastActiveMs === -Infinity)
      return { ok: false, reason: 'pleg has yet to be successful', lastActiveMs: undefined };
    const agoMs = this.#options.clock.monotonicMs() - lastActiveMs;
    if (agoMs <= UNHEALTHY_AFTER_MS) return { ok: true, reason: '', lastActiveMs };
    return {
      ok: false,
      reason: `pleg was last seen active ${Math.round(agoMs / 1000)}s ago; threshold is ${UNHEALTHY_AFTER_MS / 60_000}m0s`,
      lastActiveMs,
    };
  }

  /** Returns why no pod can be synced, in upstream's words; empty when PLEG is healthy. */
  errors(): string[] {
    const { ok, reason } = this.health();
    if (!ok) return [`PLEG is not healthy: ${reason}`];
    // A pass over a pod that runs but was not read yet could only fail and be retried later.
    return this.#isAdopted ? [] : ['PLEG is not healthy: the pods that run are being read for the first time'];
  }

  // ---- Relisting ----

  async #relist(): Promise<void> {
    const { clock, log, onRelist } = this.#options;
    const startMs = clock.monotonicMs();
    try {
      const { settled, inspected } = await relist({ ...this.#options, inspector: this.#inspector });
      this.#lastRelistMs = clock.monotonicMs();
      onRelist?.(this.#lastRelistMs - startMs, inspected);
      if (this.#relistFailed) log.info('relist works again');
      this.#relistFailed = false;
      if (!this.#isFirstListIn) {
        this.#isFirstListIn = true;
        const patience = clock.setTimer(ADOPTION_PATIENCE_MS, this.#markAdopted);
        void settled.then(() => {
          patience.cancel();
          this.#markAdopted();
        });
      }
    } catch (error) {
      // One log line per outage, not one per second.
      if (!this.#relistFailed) log.error('relist failed', { error: errorMessage(error) });
      this.#relistFailed = true;
    }
  }

  #onInspectionFailure(uid: PodUid, error: unknown): void {
    const { clock, cache, log } = this.#options;
    const failures = cache.troubleOf(uid)?.failures ?? 1;
    if (failures === 1) log.warn('cannot read the pod from the runtime', { podUid: uid, error: errorMessage(error) });
    // A runtime that is down is found again by relisting, which then reads the failed pods.
    if (this.#stopped || this.#retries.has(uid) || (isKind(error, 'Unavailable') && this.#stream.kind === undefined))
      return;
    const delayMs = Math.min(30_000, 1000 * 2 ** Math.min(failures - 1, 5));
    this.#retries.set(
      uid,
      clock.setTimer(delayMs, () => {
        this.#retries.delete(uid);
        if (cache.troubleOf(uid) !== undefined) void this.#inspector.refresh(uid).catch(() => undefined);
      }),
    );
  }

  // ---- Transitions ----

  #armTransition(uid: PodUid): void {
    const { clock } = this.#options;
    const transition = this.#transitions.get(uid);
    if (transition === undefined) return;
    const delayMs = transitionMs[Math.min(transition.step++, transitionMs.length - 1)] ?? POLLING_PERIOD_MS;
    if (clock.monotonicMs() + delayMs > transition.untilMs) {
      this.#transitions.delete(uid);
      return;
    }
    transition.timer = clock.setTimer(delayMs, () => {
      void this.#inspector
        .refresh(uid)
        .catch(() => undefined)
        .then(() => this.#armTransition(uid));
    });
  }

  // ---- Events ----

  #onRuntimeEvent(event: RuntimeEvent): void {
    const { clock } = this.#options;
    this.#lastEventMs = clock.monotonicMs();
    const { id, kind, pod } = event;
    if (this.#foreign.has(id)) return;
    if (pod?.sandbox.podUid === '') {
      this.#remember(this.#foreign, id);
      return;
    }
    // An exit is published at once. Starts are mostly the agent's own calls, and their results would only arrive
    // second.
    if (kind === 'stopped' && pod !== undefined) void this.#takeSnapshot(pod).then(() => this.#follow(event));
    else this.#follow(event);
  }

  #follow(event: RuntimeEvent): void {
    const { clock, cache } = this.#options;
    const { id, kind } = event;
    const uid = cache.ownerOf(id);
    if (uid !== undefined) {
      if (kind === 'changed') this.#remember(this.#oomSeen, id);
      if (!this.#takeExit(uid, event)) this.#checks.expect(uid, id, kind);
      return;
    }
    // A creation changes nothing that runs, and the end of an unknown container is not an event.
    if (this.#stopped || kind === 'created' || kind === 'deleted' || kind === 'changed' || cache.wasRemoved(id)) return;
    const waiting = this.#unknown.get(id);
    if (waiting !== undefined) waiting.kind = kind;
    else this.#unknown.set(id, { kind, timer: clock.setTimer(UNKNOWN_ID_GRACE_MS, () => void this.#identify(id)) });
  }

  /**
   * Asks the runtime to which pod the id belongs, once per id, and only if the agent's own result did not arrive in
   * time.
   */
  async #identify(id: string): Promise<void> {
    this.#unknown.delete(id);
    const { clock, runtime, cache, log } = this.#options;
    if (cache.ownerOf(id) !== undefined || this.#stopped) return;
    try {
      const labels = await withDeadline(
        { clock, limitMs: INSPECTION_LIMIT_MS, op: 'identify container' },
        async (signal) => {
          const container = await unlessGone(runtime.containerStatus(id as ContainerId, { signal }));
          return (container ?? (await unlessGone(runtime.sandboxStatus(id as SandboxId, { signal }))))?.labels;
        },
      );
      if (labels === undefined) return;
      const uid = labels[runtimeLabels.podUid] ?? '';
      if (uid === '') this.#remember(this.#foreign, id);
      else await this.#inspector.refresh(uid as PodUid);
    } catch (error) {
      // The next relist finds it.
      log.debug(4, 'cannot find the pod of a container', { id, error: errorMessage(error) });
    }
  }

  #remember(ids: Set<string>, id: string): void {
    ids.add(id);
    if (ids.size > REMEMBERED_IDS) ids.delete(ids.values().next().value as string);
  }

  /**
   * Takes an exit from the event itself, about 25 ms before containerd 1.6's status shows it. It waits for the
   * runtime's status after an OOM kill, because the status has the reason, and if the end of the log is needed, which
   * may not be in the file yet.
   */
  #takeExit(uid: PodUid, { id, exit }: RuntimeEvent): boolean {
    const { cache } = this.#options;
    const known = cache.container(id);
    if (exit === undefined || known?.state !== 'running' || this.#oomSeen.has(id)) return false;
    if (known.annotations[runtimeAnnotations.terminationMessagePolicy] === 'FallbackToLogsOnError') return false;
    void this.#terminationMessages.of({ ...known, ...exit, state: 'exited' }).then((message) => {
      if (this.#stopped) return;
      if (cache.commitExit(id, { ...exit, message })) this.#checks.confirm(uid, id);
      else this.#checks.expect(uid, id, 'stopped');
    });
    return true;
  }

  async #takeSnapshot(pod: NonNullable<RuntimeEvent['pod']>): Promise<void> {
    const { cache } = this.#options;
    const snapshot = await this.#terminationMessages.inSnapshot(
      pod,
      ({ id, state }) => state === 'exited' && cache.container(id)?.state !== 'exited',
    );
    if (!this.#stopped) cache.commitSnapshot(snapshot);
  }

  #onCacheChange(change: CacheChange): void {
    const { uid, before, after, origin } = change;
    const transition = this.#transitions.get(uid);
    if (transition !== undefined && origin === 'observed') {
      transition.timer?.cancel();
      this.#transitions.delete(uid);
    }
    if (this.#unknown.size > 0 && after !== undefined) this.#claimUnknown(uid, after);
    for (const event of computePodLifecycleEvents(uid, before, after)) this.#options.onEvent(event, origin);
  }

  /** Applies events that arrived before the agent's own result. */
  #claimUnknown(uid: PodUid, after: PodRuntimeStatus): void {
    for (const { id } of [...after.sandboxes, ...after.containers]) {
      const waiting = this.#unknown.get(id);
      if (waiting === undefined) continue;
      waiting.timer.cancel();
      this.#unknown.delete(id);
      this.#checks.expect(uid, id, waiting.kind);
    }
  }
}
