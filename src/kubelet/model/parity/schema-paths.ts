/** Lists the paths of a schema's fields, in the order of their declaration. */
import type { Schema } from '../../../api/schema/schema.ts';

/**
 * `descendArrays` also lists the fields of list elements, such as `containers[].name`. Without it, a list counts as one
 * field.
 */
export interface WalkOptions {
  readonly descendArrays: boolean;
}

/** Returns the paths of all fields that have no fields of their own. */
export function leafPaths(schema: Schema, options: WalkOptions): string[] {
  return walk(schema, '', options);
}

function walk(schema: Schema, path: string, options: WalkOptions): string[] {
  if (schema.kind === 'object')
    return Object.entries(schema.fields).flatMap(([name, field]) =>
      walk(field.schema, path === '' ? name : `${path}.${name}`, options),
    );
  if (schema.kind === 'array' && options.descendArrays) return walk(schema.items, `${path}[]`, options);
  return [path];
}
