/**
 * Matches characters that control a terminal, end a line for some readers, or change the text direction: ASCII and
 * Latin-1 controls (0x9b alone begins a terminal command), line and paragraph separators, direction marks, and the byte
 * order mark.
 */
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Escapes these characters as `\u` and their number, so that external text is shown without side effects. Line feeds
 * and tabs stay. In JSON the escaped text has the same value.
 */
export function printable(text: string): string {
  return text.replace(steering, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Truncates a text to `limit` characters, and appends the number of omitted ones. */
export function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}... (${text.length - limit} more characters)`;
}
