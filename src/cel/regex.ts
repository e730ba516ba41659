import { RE2JS } from 're2js';

/** A pattern of RE2's syntax. Matching costs time linear in the text, whatever the pattern. */
export interface CompiledRegex {
  /** Whether the pattern is found anywhere in the text. */
  find(text: string): boolean;
  /** What was found first. */
  first(text: string): string | undefined;
  /** What is found, in order. */
  all(text: string): Iterable<string>;
}

const PATTERN_LIMIT = 64 * 1024;
/** Instructions of a compiled pattern: `(a{1000}){1000}` is short and makes a million. */
const PROGRAM_LIMIT = 20_000;
const CACHE_LIMIT = 500;
const CACHED_PATTERN_LIMIT = 1024;

const cache = new Map<string, CompiledRegex | string>();

/** The pattern, ready to be used, or what is wrong with it. */
export function compileRegex(pattern: string): CompiledRegex | string {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const compiled = compile(pattern);
  if (pattern.length <= CACHED_PATTERN_LIMIT) {
    if (cache.size >= CACHE_LIMIT) cache.clear();
    cache.set(pattern, compiled);
  }
  return compiled;
}

function compile(pattern: string): CompiledRegex | string {
  if (pattern.length > PATTERN_LIMIT) return `error parsing regexp: pattern is longer than ${PATTERN_LIMIT} characters`;
  let regex: RE2JS;
  try {
    regex = RE2JS.compile(pattern);
  } catch (error) {
    return error instanceof Error ? error.message : 'error parsing regexp';
  }
  if (regex.programSize() > PROGRAM_LIMIT) return 'error parsing regexp: expression nests or repeats too much';
  return {
    find: (text) => regex.test(text),
    first: (text) => {
      const matcher = regex.matcher(text);
      return matcher.find() ? (matcher.group() ?? '') : undefined;
    },
    *all(text) {
      const matcher = regex.matcher(text);
      while (matcher.find()) yield matcher.group() ?? '';
    },
  };
}
