/** Walks a schema: the paths of its fields, in the order they are declared. */
import type { Schema } from '../../../api/schema/schema.ts';

/** `descendArrays` also lists the fields of list elements, as `containers[].name`; without it a list is one field. */
export interface WalkOptions {
  readonly descendArrays: boolean;
}

/** Paths of all fields that have no fields of their own. A schema that contains itself is followed once. */
export function leafPaths(schema: Schema, options: WalkOptions): string[] {
  const found: string[] = [];
  walk({ schema, path: '', open: new Set() }, options, found);
  return found;
}

interface Place {
  readonly schema: Schema;
  readonly path: string;
  readonly open: ReadonlySet<Schema>;
}

function walk({ schema, path, open }: Place, options: WalkOptions, found: string[]): void {
  if (open.has(schema)) {
    found.push(path);
    return;
  }
  switch (schema.kind) {
    case 'object': {
      const inner = new Set([...open, schema]);
      for (const [name, field] of Object.entries(schema.fields)) walk({ schema: field.schema, path: path === '' ? name : `${path}.${name}`, open: inner }, options, found);
      return;
    }
    case 'array':
      if (options.descendArrays) walk({ schema: schema.items, path: `${path}[]`, open }, options, found);
      else found.push(path);
      return;
    case 'lazy':
      walk({ schema: schema.get(), path, open: new Set([...open, schema]) }, options, found);
      return;
    default:
      found.push(path);
  }
}
