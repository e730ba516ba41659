import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';

/** How long an answer is valid. A resolver that hangs is not queried more often. */
const FRESH_MS = 60_000;
/** How long to wait for the first answer, so that the node does not register with one address and change to another. */
const FIRST_LIMIT_MS = 2000;

/** Resolves the addresses of the node's own name without waiting for the resolver. */
export class OwnName {
  readonly #resolve: () => Promise<readonly string[]>;
  readonly #onChange: () => void;
  readonly #clock: Clock;
  readonly #log: Logger;
  #addresses: readonly string[] = [];
  #askedMs: number | undefined;
  #asking: Promise<void> | undefined;

  constructor(resolve: () => Promise<readonly string[]>, options: { onChange: () => void; clock: Clock; log: Logger }) {
    this.#resolve = resolve;
    this.#onChange = options.onChange;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Returns the last answer, and starts a new lookup if it is outdated. */
  addresses(): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    if (this.#asking === undefined && (this.#askedMs === undefined || nowMs - this.#askedMs >= FRESH_MS)) {
      this.#askedMs = nowMs;
      this.#asking = this.#ask();
      inBackground(this.#log, 'resolving the name of the node', this.#asking);
    }
    return this.#addresses;
  }

  /** Resolves with the first answer, or when it takes too long. */
  async whenAsked(): Promise<void> {
    this.addresses();
    try {
      await withDeadline(
        { clock: this.#clock, limitMs: FIRST_LIMIT_MS, op: 'resolve the name of the node' },
        () => this.#asking ?? Promise.resolve(),
      );
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error;
    }
  }

  async #ask(): Promise<void> {
    try {
      const found = await this.#resolve();
      if (found.join() === this.#addresses.join()) return;
      this.#addresses = found;
      this.#onChange();
    } finally {
      this.#asking = undefined;
    }
  }
}
