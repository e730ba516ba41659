import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { PodUid } from '../../model/ids.ts';
import type { ReclaimableReport } from '../../model/eviction-report.ts';
import { podUid } from '../../model/ids.ts';
import type { DiskLayout } from './disk-layout.ts';
import { nodeReclaimOf } from './disk-layout.ts';
import { SHORTEST_PAUSE_MS } from './next-reading.ts';
import { evictionMessage } from './eviction-message.ts';
import type { PodEvictor } from './evict-pod.ts';
import { exceededLimit, hasStorageLimit } from './local-storage.ts';
import type { NodePressure } from './node-pressure.ts';
import type { PodUsageParts } from './pod-usage.ts';
import { PodUsage } from './pod-usage.ts';
import type { PressureState, PressureVerdict } from './pressure-state.ts';
import { afterActing, nextChangeMs, nextPressure, noPressureYet } from './pressure-state.ts';
import { rankPods, selectVictim } from './rank-pods.ts';
import type { SignalReadings } from './signal-readings.ts';
import { signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { amountOf, isHard, isMet } from './thresholds.ts';

/** Unused things that the node can remove without evicting a pod. `Report` is the amount. */
export interface UnusedThings<Report> {
  /** Resolves with how much was removed, 0 for nothing. The runtime may free the space later. */
  deleteUnused(): Promise<number>;
  /** Returns what `deleteUnused` would remove now. */
  countUnused(): Promise<Report>;
}

export interface EvictionManagerParts {
  readonly readings: SignalReadings;
  /** Calls `onEvent` when the kernel reports that the pods lack memory; undefined where it does not. */
  readonly watchMemory: (onEvent: () => void) => (() => void) | undefined;
  readonly thresholds: () => readonly Threshold[];
  readonly transitionMs: number;
  readonly maxPodGraceMs: number;
  /** Whether limits of ephemeral storage are enforced. */
  readonly enforcesStorageLimits: boolean;
  readonly pressure: NodePressure;
  readonly findLayout: () => Promise<DiskLayout>;
  readonly usage: PodUsageParts;
  /** Removes ended containers that no status needs. */
  readonly containerGc: Pick<UnusedThings<number>, 'deleteUnused'>;
  readonly imageGc: Pick<UnusedThings<Omit<ReclaimableReport, 'containers'>>, 'deleteUnused'>;
  readonly evictor: Pick<PodEvictor, 'evict' | 'isEvicted'>;
  /** Returns the admitted pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  /** Whether all pods of the node are known. Before that, the wrong one might be evicted. */
  readonly isReady: () => boolean;
  /** Whether all resources of the pod have been freed. */
  readonly isCleanedUp: (uid: PodUid) => boolean;
  readonly events: { nodeEvent(type: 'Warning', reason: string, message: string): void };
  readonly onStatsAge: (signal: string, ageMs: number) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The time limit of a pod's clean-up (upstream: podCleanupTimeout). */
const CLEANUP_LIMIT_MS = 30_000;
/** The interval of storage checks (upstream: monitoringInterval). */
const STORAGE_PERIOD_MS = 10_000;
/** The time after which the same shortage is reported again. */
const REPORT_AGAIN_MS = 10_000;
/** The grace period of a hard eviction (upstream: immediateEvictionGracePeriodSeconds). */
const IMMEDIATE_GRACE_MS = 1000;
/** How often the disk is read while the runtime frees the space of removed containers and images. */
const FREEING_PERIOD_MS = 250;
/** How long the disk may stay unchanged before the runtime counts as done. containerd begins within about 2 s. */
const FREEING_QUIET_MS = 3000;
/** The time limit of the whole wait. */
const FREEING_LIMIT_MS = 10_000;
/** The part of the threshold by which the available amount may fall meanwhile. Logs and the like need less. */
const FREEING_LOSS = 0.01;

/**
 * Frees resources when the node is short of them.
 * 1. At most one pod at a time is evicted for a shortage of the node. The next one follows when it is gone or after 30
 *    s.
 * 2. After an eviction no decision is based on an older reading.
 * 3. The node removes unused things before it evicts a pod.
 * 4. Work on disks never delays an eviction for memory.
 * 5. No pod is evicted for a disk while the space of removed things is still becoming free.
 */
export class EvictionManager {
  readonly #parts: EvictionManagerParts;
  readonly #loop: Loop;
  #state: PressureState = noPressureYet;
  #leaving: { uid: PodUid; untilMs: number } | undefined;
  #diskWork: Promise<void> | undefined;
  #storageWork: Promise<void> | undefined;
  #storageDueMs = 0;
  readonly #reportedMs = new Map<string, number>();
  readonly #stopping = new AbortController();
  #unwatch: (() => void) | undefined;
  #notifiedMs = -Infinity;

  constructor(parts: EvictionManagerParts) {
    this.#parts = parts;
    const { clock, random, log } = parts;
    this.#loop = createLoop({
      name: 'eviction',
      clock,
      random,
      log,
      periodMs: () => this.#pauseMs(),
      pass: () => this.#pass(),
    });
  }

  start(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    // The conditions of the agent's earlier run count as observed until now.
    const lastTrueMs = new Map(this.#parts.pressure.conditions.map((each) => [each, nowMs] as const));
    this.#state = { ...noPressureYet, lastTrueMs };
    this.#loop.start();
    this.#unwatch = this.#parts.watchMemory(() => this.pressureReported());
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
    this.#stopping.abort();
    await this.#loop.stop();
    await Promise.all([this.#diskWork, this.#storageWork]);
  }

  /** Called when a file system was read, or the kernel reports pressure. */
  wake(): void {
    this.#loop.wake();
  }

  /** Called when the kernel reports pressure: everything is read again now. Reports in quick succession count once. */
  pressureReported(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    if (nowMs - this.#notifiedMs < SHORTEST_PAUSE_MS) return;
    this.#notifiedMs = nowMs;
    this.#parts.readings.expire();
    this.#loop.wake();
  }

  /** Called when the state of a pod changed. The pod being evicted may be gone. */
  podChanged(uid: PodUid): void {
    if (this.#leaving?.uid === uid && this.#parts.isCleanedUp(uid)) this.#loop.wake();
  }

  /** Evaluates the newest readings without changing the state. */
  assess(): PressureVerdict {
    return nextPressure(this.#state, this.#parts.readings.all, this.#settings(), this.#parts.clock.monotonicMs());
  }

  /** The pods that may be evicted, critical ones included. */
  candidates(): Pod[] {
    const { activePods, evictor } = this.#parts;
    return activePods().filter(({ metadata }) => !evictor.isEvicted(podUid(metadata.uid)));
  }

  /** Returns the evicted pod that is not cleaned up yet. */
  leaving(): PodUid | undefined {
    return this.#leaving?.uid;
  }

  #settings(): { thresholds: readonly Threshold[]; transitionMs: number } {
    return { thresholds: this.#parts.thresholds(), transitionMs: this.#parts.transitionMs };
  }

  #pauseMs(): number {
    const { clock, readings } = this.#parts;
    const nowMs = clock.monotonicMs();
    const later = [nextChangeMs(this.#state, this.#settings(), nowMs), this.#leaving?.untilMs, this.#storageDueMs];
    const pauses = later.flatMap((atMs) => (atMs === undefined || atMs <= nowMs ? [] : [atMs - nowMs]));
    return Math.min(readings.pauseMs(), ...pauses);
  }

  #pass(): void {
    const { clock, readings, pressure } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (this.#leaving !== undefined) this.#checkLeaving(this.#leaving, nowMs);
    readings.readDue();
    const verdict = this.assess();
    this.#state = verdict.state;
    pressure.set(verdict.conditions);
    if (!this.#parts.isReady()) return;
    if (this.#parts.enforcesStorageLimits && nowMs >= this.#storageDueMs) this.#enforceStorageLimits(nowMs);
    if (this.#leaving === undefined) this.#act(verdict);
  }

  #checkLeaving({ uid, untilMs }: { uid: PodUid; untilMs: number }, nowMs: number): void {
    const { isCleanedUp, readings, log } = this.#parts;
    const isGone = isCleanedUp(uid);
    if (!isGone && nowMs < untilMs) return;
    log.info(isGone ? 'the evicted pod is cleaned up' : 'the evicted pod was not cleaned up in time', { podUid: uid });
    this.#leaving = undefined;
    readings.expire();
    this.#state = afterActing(this.#state, readings.all);
  }

  #act({ toReclaim, met }: PressureVerdict): void {
    const quick = toReclaim.find(({ signal }) => !isDisk(signal));
    const first = this.#diskWork === undefined ? toReclaim[0] : quick;
    if (first === undefined) return;
    this.#state = afterActing(this.#state, this.#parts.readings.all);
    this.#report(first);
    if (!isDisk(first.signal)) return this.#evictFor(first, met, PodUsage.ofGroups(this.#parts.usage));
    this.#diskWork = this.#reclaimDisk(first, met)
      .catch((error: unknown) => {
        if (!isKind(error, 'Aborted'))
          this.#parts.log.error('disk space could not be reclaimed', { error: errorMessage(error) });
      })
      .finally(() => {
        this.#diskWork = undefined;
        this.#loop.wake();
      });
  }

  async #reclaimDisk(threshold: Threshold, met: readonly Threshold[]): Promise<void> {
    const { readings, usage, findLayout, log } = this.#parts;
    const { resource } = signalFacts[threshold.signal];
    const layout = await findLayout();
    if (await this.#freeOnNode(threshold, layout)) {
      await this.#whenFreed(threshold);
      this.#state = afterActing(this.#state, readings.all);
      if (!this.#isShort(threshold)) {
        log.info('the shortage is over without the eviction of a pod', { resource, signal: threshold.signal });
        return;
      }
    }
    const measured = await PodUsage.withDisks(usage, layout, this.candidates());
    // In the meantime a pod may have been evicted for memory.
    if (this.#leaving === undefined) this.#evictFor(threshold, met, measured);
  }

  /**
   * Reads the disks until the shortage is over, or until no more space becomes free: a runtime frees the space of what
   * it removed in the background. It does not wait if pods take more than becomes free.
   */
  async #whenFreed(threshold: Threshold): Promise<void> {
    const { readings, clock } = this.#parts;
    const startMs = clock.monotonicMs();
    let most = -Infinity;
    let grownMs = startMs;
    for (;;) {
      await readings.readAll();
      const nowMs = clock.monotonicMs();
      const observed = readings.all.get(threshold.signal);
      if (observed === undefined || !this.#isShort(threshold)) return;
      if (observed.available > most) [most, grownMs] = [observed.available, nowMs];
      const isFalling = observed.available < most - amountOf(threshold.value, observed.capacity) * FREEING_LOSS;
      if (isFalling || nowMs - grownMs >= FREEING_QUIET_MS || nowMs - startMs >= FREEING_LIMIT_MS) return;
      await sleep(clock, FREEING_PERIOD_MS, this.#stopping.signal);
    }
  }

  #isShort(threshold: Threshold): boolean {
    const observed = this.#parts.readings.all.get(threshold.signal);
    return observed !== undefined && isMet(threshold, observed, true);
  }

  /** Removes unused things. Returns whether there were any. */
  async #freeOnNode({ signal }: Threshold, layout: DiskLayout): Promise<boolean> {
    const { containerGc, imageGc, log } = this.#parts;
    const { containers, images } = nodeReclaimOf(signal, layout);
    const tasks = [
      ...(containers ? [() => containerGc.deleteUnused()] : []),
      ...(images ? [() => imageGc.deleteUnused()] : []),
    ];
    let removed = 0;
    for (const task of tasks) {
      try {
        removed += await task();
      } catch (error) {
        log.warn('not everything unused could be removed', { signal, error: errorMessage(error) });
      }
    }
    return removed > 0;
  }

  #evictFor(threshold: Threshold, met: readonly Threshold[], usage: PodUsage): void {
    const { readings, onStatsAge, clock, log } = this.#parts;
    const { signal } = threshold;
    const { resource } = signalFacts[signal];
    const ranked = rankPods(this.candidates(), signal, (pod) => usage.of(pod, signal));
    const victim = selectVictim(ranked)?.pod;
    for (const { signal: each } of met) {
      const observed = readings.all.get(each);
      if (observed !== undefined) onStatsAge(each, clock.monotonicMs() - observed.atMs);
    }
    if (victim === undefined) {
      if (this.#isNews(`no victim for ${signal}`))
        log.warn('no pod can be evicted to end the shortage', { resource, signal, pods: ranked.length });
      return;
    }
    log.info('Eviction manager: must evict pod(s) to reclaim', {
      resource,
      signal,
      ranking: ranked.slice(0, 5).map(({ pod, usage: used }) => `${podKey(pod)} ${used ?? 'unknown'}`),
    });
    const message = evictionMessage({
      pod: victim,
      resource,
      thresholds: [threshold, ...met],
      observations: readings.all,
      containers: usage.containers(victim),
      podMemoryBytes: usage.memoryBytes(victim),
    });
    this.#leave(victim, { ...message, signal, graceMs: this.#graceOf(threshold, victim), isDisruption: true });
  }

  #leave(pod: Pod, eviction: Parameters<PodEvictor['evict']>[1]): void {
    const { evictor, clock } = this.#parts;
    this.#leaving = { uid: podUid(pod.metadata.uid), untilMs: clock.monotonicMs() + CLEANUP_LIMIT_MS };
    evictor.evict(pod, eviction);
  }

  #graceOf(threshold: Threshold, { spec }: Pod): number {
    if (isHard(threshold)) return IMMEDIATE_GRACE_MS;
    const own = spec.terminationGracePeriodSeconds;
    return own === undefined ? this.#parts.maxPodGraceMs : Math.min(this.#parts.maxPodGraceMs, Number(own) * 1000);
  }

  /** Evicts every pod that exceeds one of its own limits. Others are not affected. */
  #enforceStorageLimits(nowMs: number): void {
    this.#storageDueMs = nowMs + STORAGE_PERIOD_MS;
    const limited = this.candidates().filter(hasStorageLimit);
    if (limited.length === 0 || this.#storageWork !== undefined) return;
    this.#storageWork = this.#parts
      .findLayout()
      .then((layout) => PodUsage.withDisks(this.#parts.usage, layout, limited))
      .then((usage) => this.#evictExceeding(limited, usage))
      .catch((error: unknown) =>
        this.#parts.log.error('limits of ephemeral storage could not be checked', { error: errorMessage(error) }),
      )
      .finally(() => (this.#storageWork = undefined));
  }

  #evictExceeding(limited: readonly Pod[], usage: PodUsage): void {
    const { evictor } = this.#parts;
    for (const pod of limited) {
      const use = usage.disk(pod);
      const exceeded = use === undefined ? undefined : exceededLimit(pod, use, usage.layout);
      if (exceeded === undefined || evictor.isEvicted(podUid(pod.metadata.uid))) continue;
      evictor.evict(pod, { ...exceeded, annotations: {}, graceMs: IMMEDIATE_GRACE_MS, isDisruption: false });
    }
  }

  #report({ signal }: Threshold): void {
    const { resource } = signalFacts[signal];
    if (!this.#isNews(resource)) return;
    this.#parts.log.info('Eviction manager: attempting to reclaim', { resource, signal });
    this.#parts.events.nodeEvent('Warning', nodeEvents.evictionThresholdMet, `Attempting to reclaim ${resource}`);
  }

  #isNews(what: string): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    if (nowMs - (this.#reportedMs.get(what) ?? -Infinity) < REPORT_AGAIN_MS) return false;
    this.#reportedMs.set(what, nowMs);
    return true;
  }
}

function isDisk(signal: Threshold['signal']): boolean {
  return signalFacts[signal].condition === 'DiskPressure';
}
