import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

type Prepare = ((objects: readonly ApiObject[]) => Promise<void> | undefined) | undefined;

interface Waiting {
  readonly objects: readonly ApiObject[];
  readonly deliver: () => void;
}

/** The limit of waiting items. If conversion is this slow, the reader must start again. */
const MOST_WAITING = 10_000;

/**
 * Delivers items in order, although some wait for a conversion webhook.
 * 1. An item that needs no conversion is delivered at once, unless an earlier one waits.
 * 2. All waiting items are converted in one call.
 * 3. After an error nothing more is delivered.
 */
export class OrderedDelivery {
  readonly #prepare: Prepare;
  readonly #failed: (error: Error) => void;
  #waiting: Waiting[] = [];
  #isBusy = false;
  #isClosed = false;

  constructor(prepare: Prepare, failed: (error: Error) => void) {
    this.#prepare = prepare;
    this.#failed = failed;
  }

  /** Adds an item. Throws what `deliver` throws if it is called at once. */
  push(objects: readonly ApiObject[], deliver: () => void): void {
    if (this.#isClosed) return;
    const ready = this.#isBusy ? undefined : this.#prepare?.(objects);
    if (!this.#isBusy && ready === undefined) return deliver();
    if (this.#waiting.length >= MOST_WAITING)
      return this.#fail(new ApiStatusError('Expired', 'the watch fell behind its conversion webhook'));
    this.#waiting.push({ objects, deliver });
    if (!this.#isBusy) void this.#run(ready);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }

  /** Delivers all that waits. `first` is the conversion of the first item, which was already asked for. */
  async #run(first: Promise<void> | undefined): Promise<void> {
    this.#isBusy = true;
    let ready = first;
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        await (ready ?? this.#prepare?.(batch.flatMap(({ objects }) => objects)));
        ready = undefined;
        for (const { deliver } of batch) if (!this.#hasEnded()) deliver();
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isBusy = false;
    }
  }

  /** Whether the delivery has ended. It is checked after each item, because a delivery may close the watch. */
  #hasEnded(): boolean {
    return this.#isClosed;
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#failed(error);
  }
}
