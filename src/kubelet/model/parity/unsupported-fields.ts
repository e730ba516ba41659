/** The fields a pod uses that this agent does not implement yet. */
import { PodSpecSchema } from '../../../api/core/pod-spec.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { formatFieldPath } from '../../../api/schema/field-path.ts';
import type { PathStep } from '../../../api/schema/field-path.ts';
import type { ObjectSchema, Schema } from '../../../api/schema/schema.ts';
import { podFieldRows } from './pod-fields.ts';
import type { PodFieldRow } from './pod-fields.ts';

export interface UnsupportedField {
  /** As in `spec.containers[0].livenessProbe.grpc`. */
  readonly path: string;
  readonly note: string;
  /**
   * `reject`: the pod must not run, because it would be broken or less isolated than requested. `warn`: it runs, with a
   * warning.
   */
  readonly severity: 'reject' | 'warn';
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty values use no field; an empty object does (`emptyDir: {}`). */
function isUsed(value: unknown, row: PodFieldRow): boolean {
  if (row.when !== undefined) return row.when(value);
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
}

/** Pure and cheap: reads only fields that are set. The order is that of the fields. */
export function unsupportedFields(pod: Pod, tables: FieldTables = podFieldRows): UnsupportedField[] {
  const found: UnsupportedField[] = [];
  inspect(PodSpecSchema, { value: pod.spec, path: ['spec'], tables }, found);
  return found;
}

/** By type name. */
type FieldTables = Readonly<Record<string, Readonly<Record<string, PodFieldRow>>>>;

interface ValueAt {
  readonly value: unknown;
  readonly path: readonly PathStep[];
  readonly tables: FieldTables;
}

function inspect(schema: Schema, { value, path, tables }: ValueAt, found: UnsupportedField[]): void {
  if (schema.kind === 'array' && Array.isArray(value)) {
    for (const [index, item] of value.entries())
      inspect(schema.items, { value: item, path: [...path, index], tables }, found);
  } else if (schema.kind === 'object' && isObject(value)) inspectObject({ schema, value, path, tables }, found);
}

interface ObjectAt {
  readonly schema: ObjectSchema;
  readonly value: Readonly<Record<string, unknown>>;
  readonly path: readonly PathStep[];
  readonly tables: FieldTables;
}

function inspectObject({ schema, value, path, tables }: ObjectAt, found: UnsupportedField[]): void {
  const rows = tables[schema.name] ?? {};
  for (const [name, fieldValue] of Object.entries(value)) {
    const row = rows[name];
    const field = schema.fields[name];
    if (row === undefined || field === undefined) continue;
    const at = [...path, name];
    if (row.severity !== undefined && isUsed(fieldValue, row))
      found.push({ path: formatFieldPath(at), note: row.note, severity: row.severity });
    if (row.whole !== true) inspect(field.schema, { value: fieldValue, path: at, tables }, found);
  }
}
