const escaped = /[<>&\u2028\u2029]/;
const everyEscaped = new RegExp(escaped, 'g');

/**
 * JSON of a value as Go's encoder writes it: `<`, `>`, `&` and the two line separators are escaped. They stand in
 * strings only, so the value stays the same; clients that compare bytes or checksums find what they expect. Keys stay
 * in their order.
 */
export function goJson(value: unknown): string {
  const json = JSON.stringify(value);
  return escaped.test(json)
    ? json.replace(everyEscaped, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : json;
}
