import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';

export interface AuditBatchesOptions {
  /** Sends one JSON body and resolves to the status of the response. Rejects if there is none. */
  readonly post: (body: string) => Promise<{ readonly status: number }>;
  /** The maximum number of events in one list. */
  readonly maxSize: number;
  /** The maximum time that an event waits for a full list. */
  readonly maxWaitMs: number;
  /** The maximum number of buffered events; further ones are dropped. */
  readonly bufferSize: number;
  /** The delay before the second attempt of a list. */
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The number of attempts per list, and the growth of the delay (upstream: apiserver/pkg/util/webhook
 * WithExponentialBackoff).
 */
const TRIES = 5;
const BACKOFF_FACTOR = 1.5;
/** The limit of the buffer in characters, because an event with bodies may have a megabyte. */
const MAX_BUFFER_LENGTH = 64 * 1024 * 1024;
const MAX_BODY_LENGTH = 4 * 1024 * 1024;

/**
 * Sends audit events to a webhook, as lists (upstream: the batch mode of the webhook backend). One list is sent at a
 * time, so the order of events is kept. A list is dropped after five failed attempts, and events are dropped while the
 * buffer is full; both are logged with the number of events.
 */
export class AuditBatches {
  readonly #options: AuditBatchesOptions;
  readonly #waiting: string[] = [];
  #waitingLength = 0;
  #dropped = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  readonly #closed = new AbortController();

  constructor(options: AuditBatchesOptions) {
    this.#options = options;
  }

  readonly add = (line: string): void => {
    const { bufferSize, maxSize, maxWaitMs, clock } = this.#options;
    if (this.#waiting.length >= bufferSize || this.#waitingLength + line.length > MAX_BUFFER_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (this.#waiting.length >= maxSize || this.#waitingLength >= MAX_BODY_LENGTH) this.#send();
    else this.#timer ??= clock.setTimer(maxWaitMs, () => this.#send());
  };

  /** Sends all buffered events; each list is tried once. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#send();
    await this.#sending;
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
  }

  async #sendAll(): Promise<void> {
    // Events that arrived while the last list was being sent have waited long enough.
    while (this.#waiting.length > 0) {
      const lines = this.#take();
      if (!(await this.#deliver(lines))) this.#dropped += lines.length;
      if (this.#dropped === 0) continue;
      this.#options.log.error('audit events were not delivered to the webhook', { events: this.#dropped });
      this.#dropped = 0;
    }
  }

  #take(): readonly string[] {
    let length = 0;
    const count = this.#waiting.findIndex((line) => (length += line.length) > MAX_BODY_LENGTH);
    const fitting = count < 0 ? this.#waiting.length : Math.max(count, 1);
    const lines = this.#waiting.splice(0, Math.min(fitting, this.#options.maxSize));
    this.#waitingLength -= lines.reduce((sum, line) => sum + line.length, 0);
    return lines;
  }

  async #deliver(lines: readonly string[]): Promise<boolean> {
    const { post, initialBackoffMs, clock, log } = this.#options;
    const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${lines.join()}]}`;
    const curve: BackoffCurve = { initialMs: initialBackoffMs, maxMs: Infinity, factor: BACKOFF_FACTOR };
    for (let failures = 1; ; failures++) {
      try {
        const { status } = await post(body);
        if (status >= 200 && status <= 299) return true;
        log.warn('the audit webhook refused a list of events', { status, attempt: failures });
      } catch (error) {
        log.warn('the audit webhook did not answer', { error: errorMessage(error), attempt: failures });
      }
      if (failures === TRIES) return false;
      const { signal } = this.#closed;
      const waited = await sleep(clock, backoffDelayMs(curve, failures), signal).then(
        () => true,
        () => false,
      );
      if (!waited) return false;
    }
  }
}
