import type { ArraySchema, Field, ObjectSchema, Schema, StringSchema } from '../../api/schema/schema.ts';
import type { DefinitionNames } from './definition-names.ts';
import { named } from './definition-names.ts';
import { describeField, describeType } from './descriptions.ts';
import type { Dialect, OpenApiSchema } from './open-api-types.ts';

/** Renders schemas in one dialect. `meet` is called with each referenced type and its name. */
export interface RenderContext {
  readonly dialect: Dialect;
  readonly names: DefinitionNames;
  readonly meet: (name: string, schema: ObjectSchema | undefined) => void;
}

/** The definition of an object type, without the fields of kinds. */
export function renderObject(context: RenderContext, name: string, schema: ObjectSchema): OpenApiSchema {
  const fields = Object.entries(schema.fields);
  const required = fields.filter(([, facts]) => facts.mustBeWritten).map(([field]) => field);
  const properties = Object.fromEntries(
    fields.map(([field, facts]) => [field, renderField(context, schema, field, facts)]),
  );
  return {
    description: describeType(schema),
    type: 'object',
    ...(fields.length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(context.names.isAtomic(name) && { 'x-kubernetes-map-type': 'atomic' }),
  };
}

/** Returns the common fields of all kinds whose types have a name: `metadata`. */
export function sharedFields({ fields }: ObjectSchema): readonly ObjectSchema[] {
  const metadata = fields.metadata?.schema;
  return metadata?.kind === 'object' ? [metadata] : [];
}

/** The definition of a custom kind: its schema with the common fields. */
export function renderCustom(
  context: RenderContext,
  schema: ObjectSchema,
  { properties, ...shown }: Readonly<Record<string, unknown>>,
): OpenApiSchema {
  // With any property, kubectl would refuse the others that the schema allows.
  if (context.dialect.version === 2 && shown['x-kubernetes-preserve-unknown-fields'] === true)
    return { type: 'object' };
  const common = ['apiVersion', 'kind', 'metadata'].flatMap((name) => {
    const field = schema.fields[name];
    return field === undefined ? [] : [[name, renderField(context, schema, name, field)] as const];
  });
  return { ...shown, properties: { ...(properties as OpenApiSchema['properties']), ...Object.fromEntries(common) } };
}

function renderField(context: RenderContext, owner: ObjectSchema, name: string, { schema }: Field): OpenApiSchema {
  const description = describeField(owner, name, schema);
  const rendered = renderSchema(context, schema);
  const extra = extensionsOf(context.names, schema);
  // In version 3 a reference cannot have other fields, so it is wrapped.
  if (
    rendered.$ref !== undefined &&
    context.dialect.version === 3 &&
    (description !== undefined || Object.keys(extra).length > 0)
  )
    return { allOf: [rendered], description, ...extra };
  return { ...rendered, ...(description !== undefined && { description }), ...extra };
}

function renderSchema(context: RenderContext, schema: Schema): OpenApiSchema {
  switch (schema.kind) {
    case 'string':
      return renderString(context, schema);
    case 'number':
      return schema.format === 'double'
        ? { type: 'number', format: 'double' }
        : { type: 'integer', format: schema.format };
    case 'boolean':
      return { type: 'boolean' };
    case 'quantity':
      return reference(context, named.quantity);
    case 'intOrString':
      return reference(context, named.intOrString);
    case 'opaque':
      return reference(context, schema.fieldSet === true ? named.fieldsV1 : named.rawExtension);
    case 'array':
      return { type: 'array', items: renderSchema(context, schema.items) };
    case 'map':
      return { type: 'object', additionalProperties: renderSchema(context, schema.values) };
    case 'object':
      return reference(context, context.names.nameOf(schema), schema);
  }
}

function renderString(context: RenderContext, schema: StringSchema): OpenApiSchema {
  if (schema.format === 'bytes') return { type: 'string', format: 'byte' };
  if (schema.format === 'time') return reference(context, schema.micros === true ? named.microTime : named.time);
  if (schema.format === 'duration') return reference(context, named.duration);
  return schema.values === undefined || schema.open === true
    ? { type: 'string' }
    : { type: 'string', enum: [...schema.values].sort() };
}

function reference(context: RenderContext, name: string, schema?: ObjectSchema): OpenApiSchema {
  context.meet(name, schema);
  return { $ref: context.dialect.refPrefix + name };
}

/** The extensions of a field for server-side apply and strategic merge patches. */
function extensionsOf(names: DefinitionNames, schema: Schema): Partial<OpenApiSchema> {
  if (schema.kind === 'map') return schema.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {};
  if (schema.kind === 'object') {
    // The field overrides the type's atomic ownership: here its fields are owned separately.
    const granular = schema.atomic !== true && names.isAtomic(names.nameOf(schema));
    const strategy = schema.patch === 'replace' ? 'replace' : schema.retainKeys === true ? 'retainKeys' : undefined;
    return {
      ...(granular && { 'x-kubernetes-map-type': 'granular' }),
      ...(strategy !== undefined && { 'x-kubernetes-patch-strategy': strategy }),
    };
  }
  if (schema.kind !== 'array') return {};
  const keys = schema.mergeKeys;
  const listType =
    keys !== undefined
      ? { 'x-kubernetes-list-map-keys': keys, 'x-kubernetes-list-type': 'map' }
      : { 'x-kubernetes-list-type': schema.listType ?? 'atomic' };
  return { ...listType, ...patchExtensions(schema) };
}

function patchExtensions(schema: ArraySchema): Partial<OpenApiSchema> {
  const { patch = schema.mergeKeys === undefined ? 'replace' : 'merge', mergeKeys, retainKeys } = schema;
  if (patch === 'replace') return retainKeys === true ? { 'x-kubernetes-patch-strategy': 'retainKeys' } : {};
  const key = typeof patch === 'object' ? patch.key : mergeKeys?.[0];
  return {
    ...(key !== undefined && { 'x-kubernetes-patch-merge-key': key }),
    'x-kubernetes-patch-strategy': retainKeys === true ? 'merge,retainKeys' : 'merge',
  };
}
