import { RE2JS } from 're2js';

/** A regular expression in RE2's syntax, as Go has it. Matching takes time linear in the text, whatever the pattern. */
export interface LinearPattern {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** How much a character of the text may cost: the length of the compiled program. */
  readonly size: number;
}

const LONGEST_PATTERN = 10_000;
const LARGEST_PROGRAM = 20_000;

/** A string says what is wrong with the pattern. Back references and look-around are errors, as in Go. */
export function compilePattern(pattern: string): LinearPattern | string {
  if (pattern.length > LONGEST_PATTERN)
    return `the pattern is longer than ${LONGEST_PATTERN} characters; write a shorter one`;
  try {
    const compiled = RE2JS.compile(pattern);
    const size = compiled.programSize();
    if (size > LARGEST_PROGRAM) return `the pattern repeats too much; use smaller repetition counts`;
    return { size, test: (text) => compiled.matcher(text).find() };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
