const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const escapes = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
]);

/**
 * Returns the name of a property in expressions, which is escaped unless it is an identifier. It is undefined if it has
 * characters that cannot be escaped (upstream: cel/escaping.go Escape).
 */
export function escapeName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (part) => escapes.get(part) ?? part);
}

/**
 * The escaped name of the property that an expression selects as `self.name`: keywords may also be written as they are
 * (upstream: DeclTypeProvider recognizeKeywordAsFieldName).
 */
export const selectedName = (name: string): string => (reserved.has(name) ? `__${name}__` : name);

const characters = new Map([...escapes].map(([text, escaped]) => [escaped, text]));

/** Returns the property for an escaped name. A name without an escape is returned unchanged. */
export function unescapeName(name: string): string {
  const word = /^__([a-z]+)__$/.exec(name)?.[1];
  if (word !== undefined && reserved.has(word)) return word;
  return name.replace(/__(?:underscores|dot|dash|slash)__/g, (part) => characters.get(part) ?? part);
}
