import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import type { Work } from '../work.ts';
import { dynType, intType, listOf, stringType } from '../types.ts';
import { codePointIndex, codePoints, countCodePoints, unitIndex } from '../unicode.ts';
import type { CelList, CelResult } from '../values.ts';
import { ArrayList, CelError } from '../values.ts';
import { formatText } from './format-text.ts';

const outOfRange = (index: bigint): CelError => new CelError(`index out of range: ${index}`);

function charAt(text: string, index: bigint): CelResult {
  const count = BigInt(countCodePoints(text));
  if (index < 0n || index > count) return outOfRange(index);
  const unit = unitIndex(text, Number(index));
  return unit === text.length ? '' : String.fromCodePoint(text.codePointAt(unit) ?? 0);
}

function indexOf(text: string, part: string, from: bigint | Work): CelResult {
  const start = typeof from === 'bigint' ? from : 0n;
  const count = BigInt(countCodePoints(text));
  if (start < 0n || start > count) return part === '' && start >= 0n ? -1n : outOfRange(start);
  const found = text.indexOf(part, unitIndex(text, Number(start)));
  return found < 0 ? -1n : BigInt(codePointIndex(text, found));
}

function lastIndexOf(text: string, part: string, upTo: bigint | Work): CelResult {
  const count = BigInt(countCodePoints(text));
  if (typeof upTo === 'bigint' && (upTo < 0n || upTo >= count))
    return part === '' && upTo === count ? count : outOfRange(upTo);
  const from = typeof upTo === 'bigint' ? unitIndex(text, Number(upTo)) : text.length;
  const found = text.lastIndexOf(part, from);
  return found < 0 ? -1n : BigInt(codePointIndex(text, found));
}

const toAscii = (text: string, isUpper: boolean): string =>
  isUpper
    ? text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())
    : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** The longest string that a function may create from shorter ones. */
const MADE_LIMIT = 16 * 1024 * 1024;
/** The work of each split, in steps. */
const STEPS_PER_CUT = 4;

/**
 * Replaces up to `limit` occurrences, or all if it is negative. The empty string occurs before each character and at
 * the end.
 */
function replace(text: string, old: string, by: string, limit: bigint | Work, rest?: Work): CelResult {
  const work = (typeof limit === 'bigint' ? rest : limit) as Work;
  const most = typeof limit === 'bigint' && limit >= 0n ? Number(limit) : Number.POSITIVE_INFINITY;
  const parts = cut(text, old, work);
  const places = Math.min(most, old === '' ? parts.length + 1 : parts.length - 1);
  if (text.length + places * by.length > MADE_LIMIT) return new CelError('the text would be too long');
  if (old === '') {
    const made = parts.map((character, index) => (index < most ? by + character : character)).join('');
    return most > parts.length ? made + by : made;
  }
  return (
    parts.slice(0, places + 1).join(by) +
    parts
      .slice(places + 1)
      .map((part) => old + part)
      .join('')
  );
}

/** Splits at `separator`; an empty separator splits into characters. Throws CostExceeded. */
function cut(text: string, separator: string, work: Work): string[] {
  if (separator === '') {
    work.step(text.length);
    return codePoints(text);
  }
  let count = 0;
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + separator.length)) {
    count += 1;
    if (count % 1024 === 0) work.step(1024 * STEPS_PER_CUT);
  }
  return text.split(separator);
}

function split(text: string, separator: string, limit: bigint | Work, rest?: Work): CelResult {
  const work = (typeof limit === 'bigint' ? rest : limit) as Work;
  const most = typeof limit === 'bigint' ? limit : -1n;
  if (most === 0n) return new ArrayList([]);
  const parts = cut(text, separator, work);
  if (most < 0n || most >= BigInt(parts.length)) return new ArrayList(parts);
  const kept = parts.slice(0, Number(most) - 1);
  return new ArrayList([...kept, parts.slice(kept.length).join(separator)]);
}

function substring(text: string, start: bigint, end: bigint | Work): CelResult {
  const count = BigInt(countCodePoints(text));
  const stop = typeof end === 'bigint' ? end : count;
  if (typeof end === 'bigint' && start > stop)
    return new CelError(`invalid substring range. start: ${start}, end: ${stop}`);
  if (start < 0n || start > count) return outOfRange(start);
  if (stop < 0n || stop > count) return outOfRange(stop);
  return text.slice(unitIndex(text, Number(start)), unitIndex(text, Number(stop)));
}

const goSpace = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && goSpace.test(text[start] as string)) start += 1;
  while (end > start && goSpace.test(text[end - 1] as string)) end -= 1;
  return text.slice(start, end);
}

function join(list: CelList, separator: string | Work): CelResult {
  const parts: string[] = [];
  const between = typeof separator === 'string' ? separator : '';
  let length = 0;
  for (let index = 0; index < list.length; index += 1) {
    const part = list.at(index);
    if (typeof part !== 'string') return new CelError(`join: invalid input: ${String(part)}`);
    length += part.length + between.length;
    if (length > MADE_LIMIT) return new CelError('the text would be too long');
    parts.push(part);
  }
  return parts.join(between);
}

const quotedCharacters = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

const quote = (text: string): string =>
  `"${text.toWellFormed().replace(/["\\\x07\b\f\n\r\t\v]/g, (character) => quotedCharacters.get(character) ?? character)}"`;

export const strings: Library = {
  functions: {
    charAt: [member('string_char_at_int', [stringType, intType], stringType, charAt)],
    indexOf: [
      member('string_index_of_string', [stringType, stringType], intType, indexOf),
      member('string_index_of_string_int', [stringType, stringType, intType], intType, indexOf),
    ],
    lastIndexOf: [
      member('string_last_index_of_string', [stringType, stringType], intType, lastIndexOf),
      member('string_last_index_of_string_int', [stringType, stringType, intType], intType, lastIndexOf),
    ],
    lowerAscii: [member('string_lower_ascii', [stringType], stringType, (text: string) => toAscii(text, false))],
    upperAscii: [member('string_upper_ascii', [stringType], stringType, (text: string) => toAscii(text, true))],
    replace: [
      member('string_replace_string_string', [stringType, stringType, stringType], stringType, replace),
      member('string_replace_string_string_int', [stringType, stringType, stringType, intType], stringType, replace),
    ],
    split: [
      member('string_split_string', [stringType, stringType], listOf(stringType), split),
      member('string_split_string_int', [stringType, stringType, intType], listOf(stringType), split),
    ],
    substring: [
      member('string_substring_int', [stringType, intType], stringType, substring),
      member('string_substring_int_int', [stringType, intType, intType], stringType, substring),
    ],
    trim: [member('string_trim', [stringType], stringType, trim)],
    format: [member('string_format', [stringType, listOf(dynType)], stringType, formatText)],
    'strings.quote': [fn('strings_quote', [stringType], stringType, quote)],
    join: [
      member('list_join', [listOf(stringType)], stringType, join),
      member('list_join_string', [listOf(stringType), stringType], stringType, join),
    ],
  },
};

/** From version 3 of the library, which Kubernetes does not use. */
export const stringReverse: Library = {
  functions: {
    reverse: [
      member('string_reverse', [stringType], stringType, (text: string) => codePoints(text).reverse().join('')),
    ],
  },
};
