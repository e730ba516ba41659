/**
 * JSON text with the characters escaped that Go's encoder escapes: `<`, `>`, `&` and the two line separators. They
 * stand in strings only, so the value stays the same; clients that compare bytes find what they expect.
 */
export function goEscaped(json: string): string {
  return json.replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
