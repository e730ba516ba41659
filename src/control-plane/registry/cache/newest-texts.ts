import type { CachedObject } from './stored-form.ts';

/** The number of texts that are not compressed yet. An object has at most 1.5 MiB, and most have a few KiB. */
const NEWEST = 16;

/**
 * Compresses the text of an object when it is no longer among the newest of its kind. A new object is often replaced
 * at once, by the first write of its status; its text is never compressed then.
 */
export class NewestTexts {
  readonly #newest: (CachedObject | undefined)[] = [];
  #next = 0;

  add(object: CachedObject): void {
    this.#newest[this.#next]?.pack();
    this.#newest[this.#next] = object;
    this.#next = (this.#next + 1) % NEWEST;
  }
}
