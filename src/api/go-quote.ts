import { lookupTable } from '../base/lookup.ts';

/**
 * Characters that Go's strconv escapes: all except letters, marks, numbers, punctuation, symbols and the ASCII space.
 */
const special = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const named: Readonly<Record<string, string>> = lookupTable({
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
});

/** Text in quotes as Go's %q writes it. */
export function goQuote(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  return `"${text.replaceAll(special, quoteCharacter)}"`;
}

function quoteCharacter(character: string): string {
  const short = named[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return '\\ufffd';
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}
