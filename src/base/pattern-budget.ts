import type { LinearPattern } from './linear-pattern.ts';

/**
 * The maximum cost of a character for each instruction of the program (measured with `^.*a.{14}b$` on random text,
 * whose automaton has a state for each set of positions). Most patterns have few states and take a few nanoseconds.
 */
const WORST_NANOSECONDS = 100;
/**
 * The size of a small program. It has at most some thousand states, which take 20 ms to find; then each character takes
 * nanoseconds.
 */
const SMALL_PROGRAM = 14;
/** The limit for one text, so that no pattern blocks the event loop longer. */
const MOST_MICROS_OF_A_TEXT = 50_000;
/** The limit of processor time for all texts together. */
const MOST_MICROS = 100_000;
/** The estimated time after which the processor time is read. */
const MICROS_BETWEEN_READINGS = 5000;

const ownTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

/** Bounds the time that patterns may take for the texts of one object: a bound for each text, and for all of them. */
export class PatternBudget {
  readonly #micros: () => number;
  #startedMicros: number | undefined;
  #unread = 0;
  #isSpent = false;

  /** `micros`: processor time of this thread. */
  constructor(micros: () => number = ownTime) {
    this.#micros = micros;
  }

  /** Whether the pattern matches anywhere in the text. Undefined means that no time is left to find out. */
  test(pattern: LinearPattern, text: string): boolean | undefined {
    const worst = worstMicros(pattern, text);
    if (this.#isSpent || worst > MOST_MICROS_OF_A_TEXT) return undefined;
    this.#startedMicros ??= this.#micros();
    const matches = pattern.test(text);
    this.#unread += worst;
    if (this.#unread < MICROS_BETWEEN_READINGS) return matches;
    this.#unread = 0;
    this.#isSpent = this.#micros() - this.#startedMicros > MOST_MICROS;
    return matches;
  }
}

const walkMicros = ({ size }: LinearPattern, { length }: string): number => (length * size * WORST_NANOSECONDS) / 1000;
const worstMicros = (pattern: LinearPattern, text: string): number =>
  pattern.size <= SMALL_PROGRAM ? 0 : walkMicros(pattern, text);

/** Whether one text could hold the event loop. A `test` uses an automaton, a search does not. */
export function couldHoldLoop(pattern: LinearPattern, text: string, use: 'test' | 'search'): boolean {
  return (use === 'test' ? worstMicros(pattern, text) : walkMicros(pattern, text)) > MOST_MICROS_OF_A_TEXT;
}
