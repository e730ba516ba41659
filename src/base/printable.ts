/**
 * Characters that control a terminal, end a line for some readers, or change the text direction: controls of ASCII and
 * of Latin-1 (0x9b alone begins a terminal's command), the separators of lines and paragraphs, marks of direction, and
 * the mark of byte order.
 */
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Escapes each of them as `\u` and its number, so that external text is shown without an effect. Line feeds and tabs
 * stay. In JSON the escaped text has the same value.
 */
export function printable(text: string): string {
  return text.replace(steering, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** At most so many characters, with the number of those left out. */
export function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}... (${text.length - limit} more characters)`;
}
