import { withWholeCharacters } from '../../base/whole-characters.ts';

/** Longer texts go the usual way, where the number of lexemes is capped. */
const MOST_CHARACTERS = 65_536;

/**
 * The value of a text that is JSON just as JSON.stringify writes it, with or without indentation, as programs write
 * manifests; undefined for everything else. Written back it must come to the same text, so there can be no duplicate
 * keys and no number that would change: the YAML parser, which takes many times as long, would find the same and
 * nothing to say.
 */
export function readPlainJson(text: string, maxDepth: number): { value: unknown } | undefined {
  if (text.length > MOST_CHARACTERS || !/^\s*\{/.test(text)) return undefined;
  const trimmed = text.trim();
  try {
    const value: unknown = JSON.parse(trimmed);
    const indent = /^\{\n( *)/.exec(trimmed)?.[1]?.length ?? 0;
    const isSame = JSON.stringify(value, undefined, indent) === trimmed;
    return isSame &&
      !trimmed.includes('"__proto__"') &&
      withWholeCharacters(trimmed) === trimmed &&
      isWithin(value, maxDepth)
      ? { value }
      : undefined;
  } catch {
    return undefined; // YAML, or nested so deeply that the stack ends: the parser says what it is.
  }
}

function isWithin(value: unknown, depth: number): boolean {
  // Whole numbers beyond 2^53 are kept exactly by the YAML parser's way.
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  if (typeof value !== 'object' || value === null) return depth >= 0;
  return depth >= 0 && Object.values(value).every((entry) => isWithin(entry, depth - 1));
}
