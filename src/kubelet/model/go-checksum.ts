/** Returns the entries in the order in which Go writes those of a map. */
export function goSortedEntries<T>(map: Iterable<readonly [string, T]>): (readonly [string, T])[] {
  return [...map].sort(([left], [right]) => (Buffer.from(left).compare(Buffer.from(right)) < 0 ? -1 : 1));
}

/** Formats a map as Go's object dumper does. */
export function goMap(entries: readonly (readonly [string | number, string])[]): string {
  return `map[${entries.map(([key, value]) => `${key}:${value}`).join(' ')}]`;
}

/** Parses a text as Go's boolean; undefined for other texts (upstream: strconv.ParseBool). */
export function parseGoBool(text: string): boolean | undefined {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text) ? false : undefined;
}
