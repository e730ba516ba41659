import { isRecord } from '../../base/json-record.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { decode, formatDecodeError, setOwn } from '../schema/decode.ts';
import { FieldErrors } from '../validation/field-error.ts';
import type { FieldError } from '../validation/field-error.ts';
import { validateObjectMeta } from '../validation/metadata.ts';
import { checkDns1035Label, checkPathSegment } from '../validation/names.ts';
import type { JsonObject } from './prune.ts';
import { fieldNode } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';

const hasEmbedded = new WeakMap<SchemaNode, boolean>();

/** Whether the schema contains embedded resources. Most do not, and then their objects are not searched. */
function mayEmbed(node: SchemaNode): boolean {
  let known = hasEmbedded.get(node);
  if (known === undefined) {
    const inside = [...node.properties.values(), node.items, node.additional];
    known = node.embedded || inside.some((each) => typeof each === 'object' && mayEmbed(each));
    hasEmbedded.set(node, known);
  }
  return known;
}

/** The errors of objects embedded in an object (upstream: schema/objectmeta Validate). */
export function validateEmbedded(value: unknown, root: SchemaNode): readonly FieldError[] {
  if (!mayEmbed(root)) return [];
  const errors = new FieldErrors();
  visit(errors, value, root, '');
  return errors.list;
}

function visit(errors: FieldErrors, value: unknown, node: SchemaNode, path: string): void {
  if (!mayEmbed(node)) return;
  if (Array.isArray(value)) {
    if (node.items !== undefined)
      for (const [index, item] of value.entries()) visit(errors, item, node.items, `${path}[${index}]`);
    return;
  }
  if (!isRecord(value)) return;
  if (node.embedded) validateResource(errors, value, path);
  for (const key of Object.keys(value)) {
    const child = fieldNode(node, key);
    if (child !== undefined) visit(errors, value[key], child, path === '' ? key : `${path}.${key}`);
  }
}

function validateResource(errors: FieldErrors, value: JsonObject, path: string): void {
  const { apiVersion, kind, metadata } = value;
  for (const [name, text] of Object.entries({ apiVersion, kind })) {
    const at = `${path}.${name}`;
    if (text === undefined) errors.required(at);
    else if (typeof text !== 'string') errors.invalid(at, text, 'must be a string');
    else if (text === '') errors.invalid(at, text, 'must not be empty');
    else if (name === 'kind')
      for (const problem of checkDns1035Label(text.toLowerCase()))
        errors.invalid(at, text, `may have mixed case, but should otherwise match: ${problem}`);
    else if (text.split('/').length > 2) errors.invalid(at, text, `unexpected GroupVersion string: ${text}`);
  }
  if (metadata === undefined) return;
  const { value: meta, errors: problems } = decode(ObjectMetaSchema, metadata, { mode: 'lenient', noHints: true });
  const [problem] = problems;
  if (problem !== undefined) return errors.invalid(`${path}.metadata`, metadata, formatDecodeError(problem));
  const named = meta.name === '' ? { ...meta, name: 'fakename' } : meta;
  validateObjectMeta(errors, `${path}.metadata`, named, {
    clusterScoped: named.namespace === '',
    checkName: checkPathSegment,
  });
}

/** The metadata of embedded objects without unknown fields (upstream: schema/objectmeta Coerce). */
export function coerceEmbedded(value: JsonObject, root: SchemaNode): JsonObject {
  // An object stays one.
  return mayEmbed(root) ? (coerce(value, root) as JsonObject) : value;
}

function coerce(value: unknown, node: SchemaNode | undefined): unknown {
  if (node === undefined || !mayEmbed(node)) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => coerce(item, node.items));
  if (!isRecord(value)) return value;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value))
    setOwn(
      out,
      key,
      node.embedded && key === 'metadata' ? knownMetadata(value[key]) : coerce(value[key], fieldNode(node, key)),
    );
  return out;
}

function knownMetadata(metadata: unknown): unknown {
  if (!isRecord(metadata)) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => Object.hasOwn(ObjectMetaSchema.fields, key)));
}
