import type { Served } from '../../registry/registry.ts';
import { eventFrame } from './watch-frames.ts';
import type { FrameForm, WatchEventType } from './watch-frames.ts';

/**
 * Frames of the newest events, made once for all watches of the same form. Small on purpose: events are sent to all
 * watchers within moments, and the initial state of a watch, which no other watcher needs then, is not kept.
 */
export class FrameCache {
  readonly #frames = new Map<Served, Map<string, Buffer>>();
  readonly #limit: number;
  #joined: { readonly of: readonly Buffer[]; readonly bytes: Buffer } | undefined;

  constructor(limit = 256) {
    this.#limit = limit;
  }

  frame(form: FrameForm, type: WatchEventType, served: Served, nowMs: number): Buffer {
    const key = `${type}/${form.key}`;
    let forms = this.#frames.get(served);
    if (forms === undefined) {
      forms = new Map();
      this.#frames.set(served, forms);
      if (this.#frames.size > this.#limit) this.#dropOldest();
    }
    let frame = forms.get(key);
    if (frame === undefined) {
      frame = eventFrame(form, type, served, { nowMs, withColumns: false });
      forms.set(key, frame);
    }
    return frame;
  }

  /** Watches that wait for the same events get the same bytes. */
  join(frames: readonly Buffer[]): Buffer {
    const [first] = frames;
    if (first !== undefined && frames.length === 1) return first;
    const known = this.#joined;
    if (
      known !== undefined &&
      known.of.length === frames.length &&
      known.of.every((frame, index) => frame === frames[index])
    )
      return known.bytes;
    const bytes = Buffer.concat(frames);
    this.#joined = { of: frames, bytes };
    return bytes;
  }

  #dropOldest(): void {
    for (const oldest of this.#frames.keys()) {
      this.#frames.delete(oldest);
      return;
    }
  }
}
