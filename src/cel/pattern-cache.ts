import type { LinearPattern } from '../base/linear-pattern.ts';
import { compilePattern } from '../base/linear-pattern.ts';
import { CelError } from './values.ts';

/** The largest number of states. The cost of cel-go does not include the states of a pattern. */
export const textTooLong = new CelError(
  'the text is too long for the pattern; use a shorter text or a simpler pattern',
);

const LONGEST_PATTERN = 64 * 1024;
const CACHE_LIMIT = 500;
const LONGEST_CACHED = 1024;

const cache = new Map<string, LinearPattern | string>();

/** Like `compilePattern`, with a cache: expressions match the same few patterns repeatedly. */
export function cachedPattern(pattern: string): LinearPattern | string {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const compiled = compilePattern(pattern, LONGEST_PATTERN);
  if (pattern.length <= LONGEST_CACHED) {
    if (cache.size >= CACHE_LIMIT) cache.clear();
    cache.set(pattern, compiled);
  }
  return compiled;
}
