import type { JsonObject } from './render-document.ts';

/**
 * The text of one document from the documents of its parts: built-in and custom kinds may share a group and version.
 * Types that several parts use are written once.
 */
export class TextOfV3 {
  readonly #paths: string[] = [];
  readonly #schemas: string[] = [];
  readonly #written = new Set<string>();
  #head: JsonObject = {};
  #components: JsonObject = {};

  /** Serializes the part now, so that the whole document is never serialized at once. */
  add({ paths, components, ...head }: JsonObject): void {
    const { schemas, ...others } = components as JsonObject;
    this.#head = head;
    this.#components = others;
    this.#paths.push(...entriesOf(paths as JsonObject, 'paths', this.#written));
    this.#schemas.push(...entriesOf(schemas as JsonObject, 'schemas', this.#written));
  }

  chunks(): readonly string[] {
    const opened = (value: JsonObject, name: string): string => {
      const text = JSON.stringify(value).slice(0, -1);
      return `${text}${text === '{' ? '' : ','}"${name}":{`;
    };
    return [
      opened(this.#head, 'paths'),
      ...this.#paths.map(afterComma),
      `},"components":${opened(this.#components, 'schemas')}`,
      ...this.#schemas.map(afterComma),
      '}}}',
    ];
  }
}

const afterComma = (text: string, index: number): string => (index === 0 ? text : `,${text}`);

/** Returns the new entries without the braces; empty if there are none. */
function entriesOf(value: JsonObject, kind: string, written: Set<string>): readonly string[] {
  const added = Object.entries(value).filter(([name]) => !written.has(`${kind} ${name}`));
  if (added.length === 0) return [];
  for (const [name] of added) written.add(`${kind} ${name}`);
  return [JSON.stringify(Object.fromEntries(added)).slice(1, -1)];
}
