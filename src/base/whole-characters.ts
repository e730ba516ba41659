const half = /\\u[dD][89a-fA-F]/;
const escapes = /\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|u([dD][89a-fA-F][0-9a-fA-F]{2})|[^])/g;

/**
 * A JSON text in which an escape of half a character (one surrogate of a pair) is U+FFFD, as Go decodes it. Such a half
 * has no UTF-8: kept, it would be one name in memory and another in a store, a file or an answer.
 */
export function withWholeCharacters(json: string): string {
  if (!half.test(json)) return json;
  // Every escape is checked, so that a backslash that is escaped itself begins none.
  return json.replace(escapes, (escape, _pair: string | undefined, lone: string | undefined) =>
    lone === undefined ? escape : '\\ufffd',
  );
}
