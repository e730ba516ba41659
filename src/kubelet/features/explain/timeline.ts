import { isRecord } from '../../../base/json-record.ts';
import type { Clock } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';
import type { TimelineEntry } from '../../../api/explanation/explanation.ts';

export type NewEntry = Omit<TimelineEntry, 'atMs' | 'count'>;

/** The maximum number of lines per pod, and of removed pods. */
const LINES_PER_POD = 64;
const GONE_PODS = 50;

/**
 * The bounded record of decisions and results, per pod. A repeated line only increases its count, so that a crash loop
 * does not fill the record.
 */
export class Timeline {
  readonly #clock: Clock;
  readonly #lines = new Map<PodUid, TimelineEntry[]>();
  /** The removed pods, oldest first. */
  readonly #gone = new Set<PodUid>();
  #onChange: () => void = () => {};

  constructor(clock: Clock, restored: Readonly<Record<string, readonly TimelineEntry[]>> = {}) {
    this.#clock = clock;
    for (const [uid, lines] of Object.entries(restored)) this.#lines.set(uid as PodUid, [...lines]);
  }

  /** Sets the listener that saves the record after each change. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  record(uid: PodUid, entry: NewEntry): void {
    const lines = this.#lines.get(uid) ?? [];
    this.#lines.set(uid, lines);
    this.#gone.delete(uid);
    const atMs = this.#clock.nowMs();
    const recent = lines
      .slice(-8)
      .find((line) => line.reason === entry.reason && line.message === entry.message && line.kind === entry.kind);
    if (recent !== undefined) {
      recent.count++;
      recent.atMs = atMs;
      lines.splice(lines.indexOf(recent), 1);
      lines.push(recent);
    } else {
      lines.push({ ...entry, atMs, count: 1 });
      if (lines.length > LINES_PER_POD) lines.shift();
    }
    this.#onChange();
  }

  of(uid: PodUid): readonly TimelineEntry[] {
    return this.#lines.get(uid) ?? [];
  }

  /** Marks the pod as removed. Its record is kept for a while, for later queries. */
  retire(uid: PodUid): void {
    if (!this.#lines.has(uid) || this.#gone.has(uid)) return;
    this.#gone.add(uid);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= GONE_PODS) break;
      this.#gone.delete(oldest);
      this.#lines.delete(oldest);
    }
    this.#onChange();
  }

  /**
   * Retires all unknown pods: those that were removed while the agent was not running, and those that got a late line
   * after their removal.
   */
  retireUnknown(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#lines.keys()]) if (!known.has(uid)) this.retire(uid);
  }

  snapshot(): Record<string, readonly TimelineEntry[]> {
    return Object.fromEntries(this.#lines);
  }
}

/** Whether the content of a file is a record of entries by pod. */
export function isSavedTimeline(value: unknown): value is Record<string, TimelineEntry[]> {
  return isRecord(value) && Object.values(value).every(Array.isArray);
}
