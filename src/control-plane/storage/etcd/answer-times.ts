/** A call is silent after so many times the usual duration, within these limits. */
const SILENT_TIMES = 4;
const SHORTEST_SILENCE_MS = 400;
const LONGEST_SILENCE_MS = 1500;
/** The weight of one call in the usual duration. */
const NEWEST_SHARE = 0.1;

/**
 * When one member of etcd answered, to tell a call that is lost from one that is slow. A busy member answers its calls
 * late, but in about the order in which they were sent. A member that is paused or cut off answers none. One that lost
 * its leader answers calls that were sent after the next election, but never those that it had passed on before.
 */
export class AnswerTimes {
  #lastAnswerMs = -Infinity;
  /** When the call was sent that was sent last of those that were answered. */
  #newestSentMs = -Infinity;
  #usualMs = 0;

  /** How long a call may take before `isLost` has a meaning. */
  get silenceMs(): number {
    return Math.min(LONGEST_SILENCE_MS, Math.max(SHORTEST_SILENCE_MS, SILENT_TIMES * this.#usualMs));
  }

  answered(sentMs: number, nowMs: number): void {
    this.#lastAnswerMs = nowMs;
    this.#newestSentMs = Math.max(this.#newestSentMs, sentMs);
    this.#usualMs += NEWEST_SHARE * (nowMs - sentMs - this.#usualMs);
  }

  /** Whether a call that was sent then, and is not answered yet, will hardly be answered. */
  isLost(sentMs: number, nowMs: number): boolean {
    const isMemberSilent = nowMs - Math.max(sentMs, this.#lastAnswerMs) >= this.silenceMs;
    const isOvertaken = this.#newestSentMs - sentMs >= this.silenceMs;
    return isMemberSilent || isOvertaken;
  }
}
