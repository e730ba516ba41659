import type { FieldMap, ObjectSchema } from './schema.ts';

/** Fields with the same meaning in all types. A type without a text for one of them gets the common text. */
export type CommonField = 'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status' | 'items';

/** A sentence for each field, by its name. */
export type FieldDocs<Fields extends FieldMap> = {
  readonly [Key in Exclude<keyof Fields, CommonField>]: string;
} & { readonly [Key in Extract<keyof Fields, CommonField>]?: string };

/** The texts of `kubectl explain` for a type and its fields. */
export interface TypeDocs {
  readonly schema: ObjectSchema;
  readonly text: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

/**
 * Describes a type. It does not compile if a field has no text, or a text no field. Texts must state defaults ("Default
 * 30."); allowed values are added from the schema.
 */
export function describe<Fields extends FieldMap>(
  schema: ObjectSchema<Fields>,
  text: string,
  fields: FieldDocs<Fields>,
): TypeDocs {
  return { schema, text, fields };
}
