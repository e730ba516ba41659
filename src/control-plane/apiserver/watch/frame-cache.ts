import type { Served } from '../../registry/registry.ts';
import { eventFrame } from './watch-frames.ts';
import type { FrameForm, WatchEventType } from './watch-frames.ts';

/**
 * Caches the frames of the newest events for all watches of the same encoding. It is small on purpose: events reach all
 * watchers quickly, and the initial state of a watch is not cached because no other watcher needs it then.
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

  /** Watches of the same encoding share the bytes of an event. */
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
