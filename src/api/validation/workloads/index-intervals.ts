/**
 * The indexes of an Indexed job as text: `1,3-5,7`, in ascending order (upstream: batch/validation
 * validateIndexesFormat).
 */

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** The number of indexes in the text, or its error. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let previous: number | undefined;
  for (const fragment of text.split(',')) {
    const interval = parseInterval(fragment, completions);
    if (typeof interval === 'string') return interval;
    if (previous !== undefined && previous >= interval.first)
      return `non-increasing order, previous: ${previous}, current: ${interval.first}`;
    total += interval.last - interval.first + 1;
    previous = interval.last;
  }
  return total;
}

/** The first index that both texts contain; invalid intervals are ignored. */
export function firstCommonIndex(one: string, other: string, completions: number): number | undefined {
  const left = validIntervals(one, completions);
  const right = validIntervals(other, completions);
  let position = 0;
  for (const { first, last } of left) {
    while (position < right.length && (right[position]?.last ?? 0) < first) position++;
    const candidate = right[position];
    if (candidate !== undefined && candidate.first <= last) return Math.max(first, candidate.first);
  }
  return undefined;
}

function validIntervals(text: string, completions: number): Interval[] {
  if (text === '') return [];
  return text.split(',').flatMap((fragment) => {
    const interval = parseInterval(fragment, completions);
    return typeof interval === 'string' ? [] : [interval];
  });
}

function parseInterval(fragment: string, completions: number): Interval | string {
  const parts = fragment.split('-');
  if (parts.length > 2)
    return `the fragment ${JSON.stringify(fragment)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const first = parseIndex(parts[0] ?? '', completions);
  if (typeof first === 'string' || parts[1] === undefined)
    return typeof first === 'string' ? first : { first, last: first };
  const last = parseIndex(parts[1], completions);
  if (typeof last === 'string') return last;
  return first >= last ? `non-increasing order, previous: ${first}, current: ${last}` : { first, last };
}

function parseIndex(text: string, completions: number): number | string {
  if (!/^[+]?[0-9]{1,18}$/.test(text)) return `cannot convert string to integer for index: ${JSON.stringify(text)}`;
  return Number(text) >= completions ? `too large index: ${JSON.stringify(text)}` : Number(text);
}
