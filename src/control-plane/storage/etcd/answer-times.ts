/** A call counts as silent after this multiple of the usual duration, within these limits. */
const SILENT_TIMES = 4;
const SHORTEST_SILENCE_MS = 400;
const LONGEST_SILENCE_MS = 1500;
/** The weight of one call in the usual duration. */
const NEWEST_SHARE = 0.1;

/**
 * Records when one member of etcd answered, to distinguish a lost call from a slow one. A busy member answers its calls
 * late, but approximately in the order in which they were sent. A member that is paused or disconnected answers none. A
 * member that lost its leader answers calls that were sent after the next election, but never those that it had passed
 * on before.
 */
export class AnswerTimes {
  #lastAnswerMs = -Infinity;
  /** The latest send time of an answered call. */
  #newestSentMs = -Infinity;
  #usualMs = 0;

  /** How long a call may take before `isLost` applies. */
  get silenceMs(): number {
    return Math.min(LONGEST_SILENCE_MS, Math.max(SHORTEST_SILENCE_MS, SILENT_TIMES * this.#usualMs));
  }

  answered(sentMs: number, nowMs: number): void {
    this.#lastAnswerMs = nowMs;
    this.#newestSentMs = Math.max(this.#newestSentMs, sentMs);
    this.#usualMs += NEWEST_SHARE * (nowMs - sentMs - this.#usualMs);
  }

  /** Whether an unanswered call that was sent at this time will probably not be answered. */
  isLost(sentMs: number, nowMs: number): boolean {
    const isMemberSilent = nowMs - Math.max(sentMs, this.#lastAnswerMs) >= this.silenceMs;
    const isOvertaken = this.#newestSentMs - sentMs >= this.silenceMs;
    return isMemberSilent || isOvertaken;
  }
}
