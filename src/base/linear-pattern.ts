import { RE2JS } from 're2js';

/** A regular expression in RE2's syntax, as in Go. Matching takes time linear in the text, for any pattern. */
export interface LinearPattern {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** The matches, in order. */
  matches(text: string): Iterable<string>;
  /** The maximum cost of a character of the text: the length of the compiled program. */
  readonly size: number;
}

const LONGEST_PATTERN = 10_000;
/** The limit of instructions: `(abc){1000}` is short but compiles to thousands. */
const LARGEST_PROGRAM = 20_000;

/** Compiles a pattern. A string is the error. Back references and look-around are errors, as in Go. */
export function compilePattern(pattern: string, longest = LONGEST_PATTERN): LinearPattern | string {
  if (pattern.length > longest)
    return `error parsing regexp: the pattern is longer than ${longest} characters; write a shorter one`;
  let regex: RE2JS;
  try {
    regex = RE2JS.compile(pattern);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const size = regex.programSize();
  if (size > LARGEST_PROGRAM)
    return 'error parsing regexp: the pattern nests or repeats too much; use smaller repetition counts';
  return {
    size,
    test: (text) => regex.test(text),
    *matches(text) {
      const matcher = regex.matcher(text);
      let end = -1;
      while (matcher.find()) {
        // As in Go, an empty match does not count where the previous match ends.
        if (matcher.end() > end) yield matcher.group() ?? '';
        end = matcher.end();
      }
    },
  };
}
