import type { LinearPattern } from '../base/linear-pattern.ts';
import { compilePattern } from '../base/linear-pattern.ts';
import { memoizeText } from '../base/memoize-text.ts';
import { CelError } from './values.ts';

/** The largest number of states. The cost of cel-go does not include the states of a pattern. */
export const textTooLong = new CelError(
  'the text is too long for the pattern; use a shorter text or a simpler pattern',
);

const LONGEST_PATTERN = 64 * 1024;
const CACHE_LIMIT = 500;
const LONGEST_CACHED = 1024;

/** Like `compilePattern`, with a cache: expressions match the same few patterns repeatedly. */
export const cachedPattern = memoizeText(
  (pattern): LinearPattern | string => compilePattern(pattern, LONGEST_PATTERN),
  { limit: CACHE_LIMIT, longest: LONGEST_CACHED },
);
