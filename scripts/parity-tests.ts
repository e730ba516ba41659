/** The tests that the parity tables name as evidence: how they are shown, and whether they can be what they are said to be. */
import path from 'node:path';

/** A test by its place, short enough for a table: `pod-runtime/security-config`, `integration/security`. */
export function testLabel(file: string): string {
  return file.replace(/^(src\/kubelet\/features\/|src\/kubelet\/|src\/|test\/)/, '').replace(/\.test\.ts$/, '');
}

/** `[label], [label]`, to be resolved by `testLinks` in the same document. */
export const testCell = (files: readonly string[]): string => files.map((file) => `[${testLabel(file)}]`).join(', ');

/** The link definitions of all named tests, for a document in docs. */
export function testLinks(files: readonly string[]): string {
  return [...new Set(files)]
    .sort()
    .map((file) => `[${testLabel(file)}]: ${path.posix.join('..', file)}`)
    .join('\n');
}

/** Whether a test uses a field: as a key, as a property, by its shorthand or in quotes. A word of a sentence is no use. */
export function usesField(test: string, field: string): boolean {
  const name = field.replaceAll(/[^\w]/g, '\\$&');
  const asKey = `(?<![\\w-])${name}(?=['"]?\\s*:)`;
  const asProperty = `(?<=[.'"\`])${name}(?![\\w-])`;
  const asShorthand = `(?<=[{,]\\s*)${name}(?=\\s*[,}])`;
  return new RegExp([asKey, asProperty, asShorthand].join('|')).test(test);
}

/** Tables and examples of what is accepted name every field and show the effect of none. */
export const showsNoEffect = (file: string): boolean =>
  /^src\/(api\/(validation|defaults|schema|manifest)|kubelet\/model\/parity)\//.test(file);
