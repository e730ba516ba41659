import { allDocs } from '../../api/all-docs.ts';
import { lookupTable } from '../../base/lookup.ts';
import type { CommonField, TypeDocs } from '../../api/schema/docs.ts';
import type { FieldMap, ObjectSchema, Schema } from '../../api/schema/schema.ts';

/** Types are distinguished by their fields: copies that only add a list or map type share them. */
const byFields = new Map<FieldMap, TypeDocs>(allDocs.map((docs) => [docs.schema.fields, docs]));

/**
 * Descriptions of common fields, for types that do not describe them. apiVersion and metadata begin as in upstream,
 * because the Conformance suite matches these words.
 */
const commonFields: Readonly<Record<CommonField, string>> = {
  apiVersion: 'APIVersion defines the group and version of this object, such as apps/v1.',
  kind: 'The kind of this object.',
  metadata: "Standard object's metadata: names, labels, owners and the like.",
  spec: 'The desired state.',
  status: 'The observed state. Written by the system.',
  items: 'The objects.',
};
const commonDescriptions: Readonly<Record<string, string>> = lookupTable(commonFields);

/** Types that OpenAPI documents do not describe as objects. */
const scalars: Readonly<Record<string, string>> = lookupTable({
  Time: 'A time in RFC 3339 format, in seconds.',
  MicroTime: 'A time in RFC 3339 format, in microseconds.',
  Duration: 'A duration such as 1h30m or 300ms.',
  FieldsV1:
    'A set of fields as a tree: keys are f:NAME for fields, k:KEYS and v:VALUE for elements of lists, and "." for the element itself.',
  Patch: 'A patch in the format of the media type.',
  IntOrString: 'An integer or a string. The field defines which values are allowed.',
  Quantity:
    'A quantity such as 500m, 1.5 or 2Gi: a number with an SI suffix (m, k, M, G, ...), a binary one (Ki, Mi, Gi, ...) or a decimal exponent.',
  RawExtension: 'Any object, stored unchanged.',
});

export const describeScalar = (name: string): string | undefined => scalars[name];

/** The description of a type for `kubectl explain`. */
export function describeType({ name, fields, variantOf }: ObjectSchema): string | undefined {
  const text = byFields.get(variantOf ?? fields)?.text;
  if (text !== undefined) return text;
  return name.endsWith('List') ? `A list of objects of the kind ${name.slice(0, -4)}.` : undefined;
}

/**
 * The description of a field for `kubectl explain`. Allowed values that are neither in the text nor in an enum of the
 * document are added.
 */
export function describeField(owner: ObjectSchema, name: string, schema: Schema): string | undefined {
  const text = byFields.get(owner.variantOf ?? owner.fields)?.fields[name] ?? commonDescriptions[name];
  const values = unlistedValues(schema);
  if (values.length === 0 || (text !== undefined && values.every((value) => names(text, value)))) return text;
  const list = `Possible values: ${values.map((value) => (value === '' ? '""' : value)).join(', ')}.`;
  return text === undefined ? list : `${text} ${list}`;
}

/** kubectl shows the enum of a field, but not that of the elements of a list or map. */
function unlistedValues(schema: Schema): readonly string[] {
  if (schema.kind === 'array') return elementValues(schema.items);
  if (schema.kind === 'map') return elementValues(schema.values);
  return schema.kind === 'string' && schema.open === true ? elementValues(schema) : [];
}

const elementValues = (schema: Schema): readonly string[] => (schema.kind === 'string' ? (schema.values ?? []) : []);

function names(text: string, value: string): boolean {
  return value === '' ? text.includes('""') : text.split(/[\s,.:;()]+/).includes(value);
}
