/**
 * The first key after all keys with the prefix, in the order of code points, which is that of UTF-8 bytes; undefined
 * when no key can come after them (an empty prefix).
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    // Surrogates are no code points of text: what follows U+D7FF is U+E000.
    if (point < 0x10ffff) return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
  }
  return undefined;
}

/** The first key that may come after `key`: nothing fits between the two. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}
