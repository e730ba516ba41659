/** The types that PodSpec uses and whose fields need rows: all types that no whole-field row covers. */
import { PodSpecSchema } from '../../../api/core/pod-spec.ts';
import type { ObjectSchema, Schema } from '../../../api/schema/schema.ts';
import { podFieldRows } from './pod-fields.ts';

export interface PodType {
  readonly schema: ObjectSchema;
  /** Where the type is used, such as `spec.containers[].ports[]`. */
  readonly paths: readonly string[];
}

/** Returns the types in the order of their first use, depth first. */
export function podTypes(): PodType[] {
  const byName = new Map<string, { schema: ObjectSchema; paths: string[] }>();
  visit(PodSpecSchema, 'spec', byName);
  return [...byName.values()];
}

function visit(schema: Schema, path: string, byName: Map<string, { schema: ObjectSchema; paths: string[] }>): void {
  switch (schema.kind) {
    case 'array':
      visit(schema.items, `${path}[]`, byName);
      return;
    case 'map':
      visit(schema.values, `${path}[key]`, byName);
      return;
    case 'object': {
      const known = byName.get(schema.name);
      if (known !== undefined) {
        known.paths.push(path);
        return;
      }
      byName.set(schema.name, { schema, paths: [path] });
      for (const [name, field] of Object.entries(schema.fields)) {
        if (podFieldRows[schema.name]?.[name]?.whole !== true) visit(field.schema, `${path}.${name}`, byName);
      }
      return;
    }
    default:
  }
}
