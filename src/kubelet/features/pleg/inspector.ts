import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { KeyedWorkers } from '../../../base/keyed-workers.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { PodListing } from './diff.ts';
import type { RuntimeReader } from './inspect.ts';
import { inspectListed, listPod, unlessGone } from './inspect.ts';
import type { Sequence } from './pod-record.ts';
import type { RuntimeCache } from './runtime-cache.ts';

/** The maximum number of concurrent inspections. More would only wait in the runtime. */
const SLOTS = 16;
/** An inspection that takes longer than this releases its slot, so that pods that hang never block others. */
const SLOT_HOLD_MS = 1000;
/** The time limit of one pod's inspection. */
export const INSPECTION_LIMIT_MS = 10_000;

interface Work {
  /** Whether the whole pod is read with its own list call. */
  readonly whole: boolean;
  /** A part of a node-wide list, whose differences are read, and when the list was requested. */
  readonly listed: { listing: PodListing; seq: Sequence } | undefined;
  /** Single containers or sandboxes to read. */
  readonly ids: Set<string>;
  readonly done: ((error: unknown) => void)[];
}

export interface InspectorOptions {
  readonly clock: Clock;
  readonly runtime: RuntimeReader;
  readonly cache: RuntimeCache;
  /** Called once per failed inspection. */
  readonly onFailure: (uid: PodUid, error: unknown) => void;
  /** Called with the duration of each inspection. */
  readonly onRead?: ((durationMs: number) => void) | undefined;
}

/**
 * Reads pods from the runtime into the cache. Invariants:
 * 1. There is one inspection per pod at a time. Requests made meanwhile are merged into the next one, which begins
 *    after they were made.
 * 2. A pod whose inspection hangs or fails does not delay other pods, and keeps its last good status.
 */
export class Inspector {
  readonly #options: InspectorOptions;
  readonly #queues: KeyedWorkers<PodUid, Work>;
  readonly #queue: (() => void)[] = [];
  #free = SLOTS;
  #stopped = new AbortController();

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#queues = new KeyedWorkers<PodUid, Work>({
      run: (uid, work) => this.#run(uid, work),
      fold: (pending, next) => ({
        whole: pending.whole || next.whole,
        listed: next.listed ?? pending.listed,
        ids: next.ids.size === 0 ? pending.ids : new Set([...pending.ids, ...next.ids]),
        done: [...pending.done, ...next.done],
      }),
      onError: () => undefined,
    });
  }

  /**
   * Reads the pod in an inspection that begins after this call. Resolves to the new status. Rejects if the runtime
   * cannot be read.
   */
  async refresh(uid: PodUid): Promise<PodRuntimeStatus | undefined> {
    await this.#submit(uid, { whole: true });
    return this.#options.cache.get(uid);
  }

  /** Reads one container or sandbox of the pod. Never rejects: errors are recorded in the cache. */
  look(uid: PodUid, id: string): Promise<void> {
    return this.#submit(uid, { ids: new Set([id]) }).catch(() => undefined);
  }

  /** Updates the cache from a pod's part of a list. Never rejects: errors are recorded in the cache. */
  catchUp(uid: PodUid, listing: PodListing, seq: Sequence): Promise<void> {
    return this.#submit(uid, { listed: { listing, seq } }).catch(() => undefined);
  }

  /** Aborts running inspections. */
  stop(): void {
    this.#stopped.abort();
  }

  #submit(uid: PodUid, work: Partial<Work>): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown): void => {
        if (error === undefined) resolve();
        else reject(error as Error);
      };
      this.#queues.submit(uid, { whole: false, listed: undefined, ids: new Set(), ...work, done: [done] });
    });
  }

  async #run(uid: PodUid, work: Work): Promise<void> {
    const { clock, cache, onFailure, onRead } = this.#options;
    const release = await this.#slot();
    const startMs = clock.monotonicMs();
    const handOver = clock.setTimer(SLOT_HOLD_MS, release);
    let failure: unknown;
    try {
      await withDeadline(
        { clock, limitMs: INSPECTION_LIMIT_MS, op: 'inspect pod', signal: this.#stopped.signal },
        (signal) => this.#inspect(uid, work, signal),
      );
    } catch (error) {
      failure = error ?? new Error('inspection failed');
      if (!this.#stopped.signal.aborted) {
        cache.noteTrouble(uid, failure);
        onFailure(uid, failure);
      }
    }
    onRead?.(clock.monotonicMs() - startMs);
    handOver.cancel();
    release();
    for (const done of work.done) done(failure);
  }

  async #inspect(uid: PodUid, work: Work, signal: AbortSignal): Promise<void> {
    const { runtime, cache } = this.#options;
    if (work.whole) {
      const seq = cache.beginObservation();
      const listing = await listPod(runtime, uid, { signal });
      cache.commitReading(uid, seq, await inspectListed(runtime, listing, cache, { signal, depth: 'full' }));
      return;
    }
    if (work.listed !== undefined) {
      const { listing, seq } = work.listed;
      cache.commitReading(uid, seq, await inspectListed(runtime, listing, cache, { signal, depth: 'changed' }));
    }
    await Promise.all(Array.from(work.ids, (id) => this.#lookAt(id, signal)));
  }

  async #lookAt(id: string, signal: AbortSignal): Promise<void> {
    const { runtime, cache } = this.#options;
    const seq = cache.beginObservation();
    if (cache.container(id) !== undefined)
      cache.commitContainer(id, seq, await unlessGone(runtime.containerStatus(id as ContainerId, { signal })));
    else if (cache.sandbox(id) !== undefined)
      cache.commitSandbox(id, seq, await unlessGone(runtime.sandboxStatus(id as SandboxId, { signal })));
  }

  /** Resolves to a function that releases the slot, once. */
  async #slot(): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#queue.shift();
      if (next === undefined) this.#free++;
      else next();
    };
  }
}
