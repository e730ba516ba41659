import type { LinearPattern } from '../base/linear-pattern.ts';
import { compilePattern } from '../base/linear-pattern.ts';
import { CelError } from './values.ts';

/** The cost of cel-go does not see how many states a pattern has. */
export const textTooLong = new CelError(
  'the text is too long for the pattern; use a shorter text or a simpler pattern',
);

const LONGEST_PATTERN = 64 * 1024;
const CACHE_LIMIT = 500;
const LONGEST_CACHED = 1024;

const cache = new Map<string, LinearPattern | string>();

/** As `compilePattern`: expressions match the same few patterns again and again. */
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
