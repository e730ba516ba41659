import type { Clock, Timer } from '../../../base/clock.ts';
import type { Served, WatchSink } from '../../registry/registry.ts';
import { expired, internalError } from '../../../api/status/api-status-error.ts';
import { statusOf } from '../http/reply.ts';
import type { HeldAnswer } from '../limits/unread-answers.ts';
import type { Flushable, FlushScheduler } from './flush-scheduler.ts';
import type { FrameCache } from './frame-cache.ts';
import { bookmarkFrame, errorFrame, eventFrame } from './watch-frames.ts';
import type { FrameForm, WatchEventType } from './watch-frames.ts';

/** The destination of frames: a chunked body, or messages of a WebSocket. */
export interface FrameOutput {
  /** False if the write buffer is full; the connection's `resume` is called when it has drained. */
  send(bytes: Buffer): boolean;
  /** Ends the response normally. */
  end(): void;
  /** Cuts the connection. */
  destroy(): void;
}

export interface WatchConnectionOptions {
  readonly form: FrameForm;
  readonly output: FrameOutput;
  readonly clock: Clock;
  readonly scheduler: FlushScheduler;
  readonly frames: FrameCache;
  readonly allowBookmarks: boolean;
  /** One frame per event for WebSockets; otherwise frames are concatenated. */
  readonly separate: boolean;
  readonly onSent: (events: number, bytes: number) => void;
  /** Limit of buffered bytes for a slow peer; beyond it the watch is ended. */
  readonly limitBytes: number;
  /** While the peer does not read, buffered bytes count as an unread response. */
  readonly hold: (bytes: number) => HeldAnswer;
  /** An event could not be written. */
  readonly onFault: (error: unknown) => void;
}

type Pending =
  | { readonly kind: 'event'; readonly type: WatchEventType; readonly served: Served; readonly live: boolean }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly kind: 'error'; readonly error: Error };

/** How many bytes are written before the write buffer is checked. */
const FLUSH_BYTES = 262_144;
/** How long the peer may take to read the rest before the end. */
const LINGER_MS = 10_000;

/**
 * One watcher. Events wait as references to shared objects, and become bytes when they are sent. Invariants: 1. order
 * is kept; 2. while the peer does not read, nothing is written, and the buffer is bounded: beyond it the watch ends
 * with 410 Expired; 3. initial objects do not count, because they are in the cache anyway; 4. after `end` only buffered
 * events are sent, for at most ten seconds; 5. an event that cannot be encoded ends only this watch, with an error
 * event.
 */
export class WatchConnection implements WatchSink, Flushable {
  readonly #options: WatchConnectionOptions;
  readonly #pending: Pending[] = [];
  #state: 'open' | 'blocked' | 'closed' = 'open';
  #isLive = false;
  #waitingBytes = 0;
  #saidColumns = false;
  #endAfter = false;
  #timer: Timer | undefined;
  /** While blocked: bytes that were written and not sent yet. */
  #written = 0;
  #held: HeldAnswer | undefined;

  constructor(options: WatchConnectionOptions) {
    this.#options = options;
  }

  /** The initial objects are complete: from now on events count against the limit. */
  goLive(): void {
    this.#isLive = true;
  }

  endAfter(ms: number): void {
    this.#timer = this.#options.clock.setTimer(ms, () => this.end(undefined));
  }

  event(type: WatchEventType, served: Served): void {
    if (this.#state === 'closed' || this.#endAfter) return;
    this.#pending.push({ kind: 'event', type, served, live: this.#isLive });
    if (this.#isLive) {
      this.#waitingBytes += served.json.length;
      if (this.#waitingBytes > this.#options.limitBytes) return this.#tooSlow();
      this.#held?.resize(this.#written + this.#waitingBytes);
    }
    this.#wake();
  }

  bookmark(resourceVersion: string, initialEventsEnd: boolean): void {
    if (this.#state === 'closed' || this.#endAfter || !this.#options.allowBookmarks) return;
    this.#pending.push({ kind: 'bookmark', resourceVersion, initialEventsEnd });
    this.#wake();
  }

  /** Sends buffered events, then ends the response. */
  end(error: Error | undefined): void {
    if (this.#state === 'closed' || this.#endAfter) return;
    if (error !== undefined) this.#pending.push({ kind: 'error', error });
    this.#endAfter = true;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(LINGER_MS, () => this.#cut());
    this.#wake();
  }

  /** The peer reads again. */
  resume(): void {
    if (this.#state !== 'blocked') return;
    this.#state = 'open';
    this.#release();
    this.#wake();
  }

  /** The peer is gone. */
  closed(): void {
    this.#state = 'closed';
    this.#timer?.cancel();
    this.#release();
    this.#pending.length = 0;
    this.#options.scheduler.forget(this);
  }

  /** Never throws, because other connections are flushed after it in the same round. */
  flush(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#options.onFault(error);
      this.#cut();
    }
  }

  #flush(): void {
    while (this.#state === 'open' && this.#pending.length > 0) this.#sendSome();
    if (this.#state !== 'closed' && this.#endAfter && this.#pending.length === 0) {
      this.closed();
      this.#options.output.end();
    }
  }

  #sendSome(): void {
    const { frames, form, clock, separate, output, onSent } = this.#options;
    const batch: Buffer[] = [];
    let bytes = 0;
    let taken = 0;
    for (const each of this.#pending) {
      if (bytes >= FLUSH_BYTES || (separate && taken > 0)) break;
      const frame = this.#frameOr(each, clock.nowMs(), frames, form);
      if (each.kind === 'event' && each.live) this.#waitingBytes -= each.served.json.length;
      batch.push(frame);
      bytes += frame.length;
      taken++;
    }
    this.#pending.splice(0, taken);
    onSent(taken, bytes);
    if (output.send(frames.join(batch)) || this.#state !== 'open') return;
    this.#state = 'blocked';
    this.#written = bytes;
    this.#held = this.#options.hold(bytes + this.#waitingBytes);
  }

  #release(): void {
    this.#held?.end();
    this.#held = undefined;
  }

  /** The frame, or the error that ends the watch in its place. */
  #frameOr(each: Pending, nowMs: number, frames: FrameCache, form: FrameForm): Buffer {
    try {
      return this.#frameOf(each, nowMs, frames, form);
    } catch (error) {
      this.#options.onFault(error);
      this.#pending.length = 0;
      this.end(undefined);
      return errorFrame(form, internalError(error).toStatus());
    }
  }

  #frameOf(each: Pending, nowMs: number, frames: FrameCache, form: FrameForm): Buffer {
    if (each.kind === 'error') return errorFrame(form, statusOf(each.error).toStatus());
    const withColumns = this.#takeColumns();
    if (each.kind === 'bookmark')
      return bookmarkFrame(form, each.resourceVersion, { initialEventsEnd: each.initialEventsEnd, withColumns });
    if (withColumns || !each.live) return eventFrame(form, each.type, each.served, { nowMs, withColumns });
    return frames.frame(form, each.type, each.served, nowMs);
  }

  #takeColumns(): boolean {
    if (this.#saidColumns || this.#options.form.form.as !== 'table') return false;
    this.#saidColumns = true;
    return true;
  }

  #cut(): void {
    if (this.#state === 'closed') return;
    this.closed();
    this.#options.output.destroy();
  }

  #wake(): void {
    if (this.#state === 'open') this.#options.scheduler.request(this);
  }

  /** Buffered events are dropped; the client lists again. */
  #tooSlow(): void {
    this.#pending.length = 0;
    this.#waitingBytes = 0;
    this.end(expired('too old resource version: the client of the watch reads too slowly'));
  }
}
