/**
 * The limit of all warnings, as in upstream. Beyond 4 KiB each warning is truncated at 256 characters, and those that
 * still do not fit are omitted.
 */
const TOTAL_LIMIT = 4096;
const ITEM_LIMIT = 256;

/** Formats warnings as `299 - "text"`, with each text quoted as HTTP requires. */
export function warningHeaders(warnings: readonly string[]): readonly string[] {
  const clean = warnings.map((text) => text.replace(/[\u0000-\u001f\u007f]/g, ' '));
  const total = clean.reduce((sum, text) => sum + text.length, 0);
  const short =
    total > TOTAL_LIMIT ? clean.map((text) => (text.length > ITEM_LIMIT ? text.slice(0, ITEM_LIMIT) : text)) : clean;
  const headers: string[] = [];
  let left = TOTAL_LIMIT;
  for (const text of short) {
    if (total > TOTAL_LIMIT && text.length > left) break;
    left -= text.length;
    headers.push(`299 - "${asHeaderBytes(text).replace(/["\\]/g, '\\$&')}"`);
  }
  return headers;
}

/** Converts a text for headers, which Node writes in Latin-1: its UTF-8 bytes are passed as Latin-1 characters. */
const asHeaderBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
