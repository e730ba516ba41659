import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { podEvents } from '../../../api/reasons.ts';
import { podFullName, podKey } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodSource, PodUpdate } from '../../model/pod-update.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { MergedPod } from './merge.ts';
import { computeMerge } from './merge.ts';

export interface PodConfigOptions {
  /** All sources that will report. Nothing is removed until all of them have. */
  readonly sources: readonly PodSource[];
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly log: Logger;
  /** Receives the updates of all sources, one after another. An empty ADD means that a source has reported no pods. */
  readonly onUpdate: (update: PodUpdate) => void;
}

interface SourceState {
  readonly pods: ReadonlyMap<string, MergedPod>;
  readonly reported: boolean;
  readonly complete: boolean;
}

/**
 * Merges the sources of pods. Invariants:
 * 1. The updates of one source reach the handler in the order in which they were merged, REMOVE before ADD.
 * 2. No REMOVE is sent before every source has reported completely. One that was reverted meanwhile is never sent.
 * 3. A pod that the handler knows is never announced by a second ADD.
 */
export class PodConfig {
  readonly #options: PodConfigOptions;
  readonly #sources: Map<PodSource, SourceState>;
  readonly #held = new Map<string, { source: PodSource; pod: Pod }>();
  readonly #readyListeners = new Set<() => void>();
  #ready = false;

  constructor(options: PodConfigOptions) {
    this.#options = options;
    this.#sources = new Map(
      options.sources.map((source) => [source, { pods: new Map(), reported: false, complete: false }]),
    );
  }

  /** Whether every source has reported completely. Only then may unlisted pods be cleaned up. */
  sourcesReady(): boolean {
    return this.#ready;
  }

  /** Calls `listener` once, after the last source has reported completely. */
  onSourcesReady(listener: () => void): void {
    this.#readyListeners.add(listener);
  }

  /** Returns the sources that have not reported yet, for `explain` and health. */
  missingSources(): PodSource[] {
    return [...this.#sources].filter(([, state]) => !state.complete).map(([source]) => source);
  }

  /**
   * Sets all pods of one source. `complete: false` means that the source could not read all of them: the pods are
   * added, but the source does not count as having reported.
   */
  setSource(source: PodSource, pods: readonly Pod[], report: { complete: boolean } = { complete: true }): void {
    const state = this.#sources.get(source) ?? { pods: new Map(), reported: false, complete: false };
    const merge = computeMerge(state.pods, pods, source, this.#options.clock.nowMs());
    const firstReport = !state.reported && report.complete;
    this.#sources.set(source, {
      pods: merge.pods,
      reported: state.reported || report.complete,
      complete: state.complete || report.complete,
    });
    for (const duplicate of merge.duplicates) this.#refuse(duplicate, source);
    const updates = merge.updates.flatMap((update) => this.#withholdRemovals(update));
    for (const update of updates) this.#options.onUpdate(update);
    if (
      firstReport &&
      !updates.some((update) => update.op === 'ADD' || update.op === 'UPDATE' || update.op === 'DELETE')
    )
      this.#options.onUpdate({ op: 'ADD', source, pods: [] });
    this.#checkReady();
  }

  #withholdRemovals(update: PodUpdate): PodUpdate[] {
    const { source } = update;
    if (update.op === 'REMOVE' && !this.#ready) {
      for (const pod of update.pods) this.#held.set(pod.metadata.uid, { source, pod });
      return [];
    }
    if (update.op !== 'ADD') return [update];
    const known = update.pods.filter((pod) => this.#held.delete(pod.metadata.uid));
    if (known.length === 0) return [update];
    const fresh = update.pods.filter((pod) => !known.includes(pod));
    const result: PodUpdate[] = [{ op: 'UPDATE', source, pods: known }];
    return fresh.length > 0 ? [{ op: 'ADD', source, pods: fresh }, ...result] : result;
  }

  #checkReady(): void {
    if (this.#ready || [...this.#sources.values()].some((state) => !state.complete)) return;
    this.#ready = true;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const source of new Set(held.map((each) => each.source))) {
      this.#options.onUpdate({
        op: 'REMOVE',
        source,
        pods: held.filter((each) => each.source === source).map((each) => each.pod),
      });
    }
    for (const listener of this.#readyListeners) listener();
  }

  #refuse(pod: Pod, source: PodSource): void {
    const { name, uid } = pod.metadata;
    const who = `${podFullName(pod)}(${uid})`;
    this.#options.log.warn('pod ignored because its name is taken', { pod: podKey(pod), source });
    this.#options.recorder.event(
      pod,
      'Warning',
      podEvents.failedValidation,
      `Error validating pod ${who} from ${source} due to duplicate pod name "${name}", ignoring`,
    );
  }
}
