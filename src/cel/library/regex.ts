import type { Library } from '../environment.ts';
import { memberFunction as member } from '../environment.ts';
import type { Work } from '../work.ts';
import { couldHoldLoop } from '../../base/pattern-budget.ts';
import { cachedPattern, textTooLong } from '../pattern-cache.ts';
import { intType, listOf, stringType } from '../types.ts';
import type { CelResult } from '../values.ts';
import { ArrayList, CelError } from '../values.ts';

function find(text: string, pattern: string): CelResult {
  const regex = cachedPattern(pattern);
  if (typeof regex === 'string') return new CelError(`Illegal regex: ${regex}`);
  if (couldHoldLoop(regex, text, 'search')) return textTooLong;
  const [first = ''] = regex.matches(text);
  return first;
}

/** The work of one match, in steps: a match takes much longer than one step through a list. */
const STEPS_PER_MATCH = 20;

function findAll(text: string, pattern: string, limit: bigint | Work, rest?: Work): CelResult {
  const regex = cachedPattern(pattern);
  if (typeof regex === 'string') return new CelError(`Illegal regex: ${regex}`);
  if (couldHoldLoop(regex, text, 'search')) return textTooLong;
  const work = (typeof limit === 'bigint' ? rest : limit) as Work;
  const most = typeof limit === 'bigint' && limit >= 0n ? limit : -1n;
  const found: string[] = [];
  if (most === 0n) return new ArrayList(found);
  for (const match of regex.matches(text)) {
    work.step(STEPS_PER_MATCH);
    found.push(match);
    if (BigInt(found.length) === most) break;
  }
  return new ArrayList(found);
}

export const regexes: Library = {
  functions: {
    find: [member('string_find_string', [stringType, stringType], stringType, find)],
    findAll: [
      member('string_find_all_string', [stringType, stringType], listOf(stringType), findAll),
      member('string_find_all_string_int', [stringType, stringType, intType], listOf(stringType), findAll),
    ],
  },
};
