import { withWholeCharacters } from '../../base/whole-characters.ts';

/** Longer texts are left to the YAML parser, which limits the number of tokens. */
const MOST_CHARACTERS = 65_536;

/**
 * Parses a text that is exactly the output of JSON.stringify, with or without indentation, as programs write manifests;
 * undefined for any other text. The value must encode to the same text again. Then the text has no duplicate keys and
 * no number that would change, so the YAML parser, which is many times slower, would return the same value without
 * errors.
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
    return undefined; // It is YAML, or nested too deeply for the stack. The YAML parser decides.
  }
}

function isWithin(value: unknown, depth: number): boolean {
  // Integers beyond 2^53 are left to the YAML parser, which keeps them exactly.
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  if (typeof value !== 'object' || value === null) return depth >= 0;
  return depth >= 0 && Object.values(value).every((entry) => isWithin(entry, depth - 1));
}
