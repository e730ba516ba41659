/**
 * Returns the first key after all keys with the prefix, in the order of code points, which is that of UTF-8 bytes;
 * undefined if there is none (an empty prefix).
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    // Surrogates are not code points of text, so U+E000 follows U+D7FF.
    if (point < 0x10ffff) return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
  }
  return undefined;
}

/** Returns the first key that may follow `key`, with no possible key between them. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}
