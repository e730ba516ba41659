import { EmbeddedObjectMetaSchema, ObjectMetaSchema } from '../../api/core/meta.ts';
import type { Field, FieldMap, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { boolean, double, intOrString, opaque, string } from '../../api/schema/schema.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';

const fieldOf = (schema: Schema): Field => ({ schema, required: false, mustBeWritten: false, keepsZero: true });

/**
 * Converts a custom kind to the schema for managed fields, server-side apply and patches. Other constraints (limits,
 * alternatives) are validated by the structural schema.
 */
export function objectSchemaOf(kind: string, root: SchemaNode): ObjectSchema {
  const fields: Record<string, Field> = {};
  for (const [name, node] of root.properties) fields[name] = fieldOf(schemaOf(node));
  return {
    kind: 'object',
    name: kind,
    fields: {
      ...fields,
      kind: fieldOf(string),
      apiVersion: fieldOf(string),
      metadata: { ...fieldOf(ObjectMetaSchema), required: true },
    },
    custom: root.preserves ? { rest: opaque } : {},
  };
}

function schemaOf(node: SchemaNode): Schema {
  if (node.intOrString) return intOrString;
  switch (node.type) {
    case 'string':
      return string;
    case 'boolean':
      return boolean;
    case 'integer':
    case 'number':
      return double;
    case 'array':
      return listOf(node);
    case 'object':
      return structOf(node);
    default:
      return opaque;
  }
}

function listOf(node: SchemaNode): Schema {
  const items = node.items === undefined ? opaque : schemaOf(node.items);
  const keyDefaults = Object.fromEntries(
    node.listMapKeys.flatMap((key) => {
      const value = node.items?.properties.get(key)?.json.default;
      return typeof value === 'string' ? [[key, value]] : [];
    }),
  );
  return {
    kind: 'array',
    items,
    keepsEmpty: true,
    ...(node.listType === 'map' && { mergeKeys: node.listMapKeys, keyDefaults }),
    ...(node.listType === 'set' && { listType: 'set' }),
  };
}

function structOf(node: SchemaNode): Schema {
  const atomic = node.mapType === 'atomic';
  if (node.properties.size === 0 && !node.embedded) {
    const values = typeof node.additional === 'object' ? schemaOf(node.additional) : opaque;
    return { kind: 'map', values, keepsEmpty: true, ...(atomic && { atomic }) };
  }
  const fields: Record<string, Field> = {};
  for (const [name, each] of node.properties) fields[name] = fieldOf(schemaOf(each));
  const whole: FieldMap = node.embedded
    ? { ...fields, kind: fieldOf(string), apiVersion: fieldOf(string), metadata: fieldOf(EmbeddedObjectMetaSchema) }
    : fields;
  const rest = typeof node.additional === 'object' ? schemaOf(node.additional) : node.preserves ? opaque : undefined;
  return {
    kind: 'object',
    name: '',
    fields: whole,
    custom: rest === undefined ? {} : { rest },
    ...(atomic && { atomic }),
  };
}
