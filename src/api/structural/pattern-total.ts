import { compilePattern } from '../../base/linear-pattern.ts';
import { memoizeText } from '../../base/memoize-text.ts';

/**
 * The limit of instructions for all different patterns of a definition together. Compiling takes one to two
 * microseconds per instruction, and the first object with all of these fields compiles all of them. Definitions have
 * some dozens of patterns with fewer than a hundred instructions each.
 */
const MOST_INSTRUCTIONS = 40_000;
/** Unicode classes and ignored case have few instructions, but each is built from tables. */
const costly = /\\[pP]|\(\?[a-zA-Z]*i/g;
const INSTRUCTIONS_OF_COSTLY = 50;

/** The number of instructions of a pattern, or what is wrong with it. Many definitions have the same patterns. */
const judgePattern = memoizeText(
  (pattern): number | string => {
    const compiled = compilePattern(pattern);
    return typeof compiled === 'string' ? compiled : compiled.size;
  },
  { limit: 1000, longest: 500 },
);

/** Checks the patterns of a definition, and their total size. */
export class PatternTotal {
  #left = MOST_INSTRUCTIONS;
  readonly #known = new Map<string, string | undefined>();

  /** The problem of a pattern; undefined if it is valid. */
  problemOf(pattern: string): string | undefined {
    if (this.#known.has(pattern)) return this.#known.get(pattern);
    const problem = this.#check(pattern);
    this.#known.set(pattern, problem);
    return problem;
  }

  #check(pattern: string): string | undefined {
    if (this.#left < 0)
      return 'the patterns of the definition are too large together; write fewer, or use smaller repetition counts';
    this.#left -= (pattern.match(costly)?.length ?? 0) * INSTRUCTIONS_OF_COSTLY;
    const judged = judgePattern(pattern);
    if (typeof judged === 'number') {
      this.#left -= judged;
      return undefined;
    }
    this.#left -= pattern.length;
    return `must be a valid regular expression, but isn't: ${judged}`;
  }
}
