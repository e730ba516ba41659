import { compilePattern } from '../../base/linear-pattern.ts';

/**
 * Instructions of all different patterns of a definition together. Compiling one takes one to two microseconds, and the
 * first object with all of these fields has all of them compiled. Definitions have some dozens of patterns, of fewer
 * than a hundred instructions each.
 */
const MOST_INSTRUCTIONS = 40_000;
/** Classes of Unicode and ignored case are few instructions, but each is built from tables. */
const costly = /\\[pP]|\(\?[a-zA-Z]*i/g;
const INSTRUCTIONS_OF_COSTLY = 50;

/** Checks the patterns of a definition, and how much they are together. */
export class PatternTotal {
  #left = MOST_INSTRUCTIONS;
  readonly #known = new Map<string, string | undefined>();

  /** What is wrong with a pattern; undefined: nothing. */
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
    const compiled = compilePattern(pattern);
    if (typeof compiled !== 'string') {
      this.#left -= compiled.size;
      return undefined;
    }
    this.#left -= pattern.length;
    return `must be a valid regular expression, but isn't: ${compiled}`;
  }
}
