/**
 * The forms of JSONSchemaProps in JSON and protobuf. `readJsonSchema` reads what is in it; fields and numbers follow
 * k8s.io/apiextensions-apiserver.
 */
import { isRecord } from '../../base/json-record.ts';
import { array, boolean, double, field, int64, map, object, opaque, pointer, string } from '../schema/schema.ts';
import { isCanonicalSchema, isKnownCanonical } from '../structural/canonical-schema.ts';
import type { ObjectSchema, OpaqueMessage, OpaqueSchema } from '../schema/schema.ts';

type Message = Readonly<Record<string, unknown>>;

/** Values of a wrong type are dropped. A validated definition has none. */
const asObject = (value: unknown): object => (isRecord(value) ? value : {});

export const jsonSchemaProps: OpaqueSchema = {
  kind: 'opaque',
  message: {
    get schema(): ObjectSchema {
      return JSONSchemaPropsSchema;
    },
    canonical: { check: isCanonicalSchema, isKnown: isKnownCanonical },
    formOf: () => JSONSchemaPropsSchema,
    toMessage: asObject,
    fromMessage: (message) => message,
  },
};

const schemas = array(jsonSchemaProps);

const either = (message: OpaqueMessage): OpaqueSchema => ({ kind: 'opaque', message: { ...message, isQuiet: true } });

const orArray = either({
  schema: object('JSONSchemaPropsOrArray', {
    schema: field(1, jsonSchemaProps),
    jSONSchemas: field(2, array(jsonSchemaProps)),
  }),
  formOf: (value) => (Array.isArray(value) ? schemas : JSONSchemaPropsSchema),
  toMessage: (value) => (Array.isArray(value) ? { jSONSchemas: value } : { schema: value }),
  fromMessage: ({ schema, jSONSchemas }: Message) => schema ?? jSONSchemas ?? [],
});

const orBool = either({
  schema: object('JSONSchemaPropsOrBool', { allows: pointer(1, boolean), schema: field(2, jsonSchemaProps) }),
  formOf: (value) => (typeof value === 'boolean' ? boolean : JSONSchemaPropsSchema),
  // Go sets `allows` when there is a schema.
  toMessage: (value) => (isRecord(value) ? { allows: true, schema: value } : { allows: value === true }),
  fromMessage: ({ allows, schema }: Message) => schema ?? allows === true,
});

const properties = array(string);
const orStrings = either({
  schema: object('JSONSchemaPropsOrStringArray', {
    schema: field(1, jsonSchemaProps),
    property: field(2, array(string)),
  }),
  formOf: (value) => (Array.isArray(value) ? properties : JSONSchemaPropsSchema),
  toMessage: (value) => (Array.isArray(value) ? { property: value } : { schema: value }),
  fromMessage: ({ schema, property }: Message) => schema ?? property ?? [],
});

const ValidationRuleSchema = object('ValidationRule', {
  rule: field(1, string),
  message: field(2, string),
  messageExpression: field(3, string),
  reason: pointer(4, string),
  fieldPath: field(5, string),
  optionalOldSelf: pointer(6, boolean),
});

const JSONSchemaPropsSchema: ObjectSchema = object('JSONSchemaProps', {
  id: field(1, string),
  $schema: field(2, string),
  $ref: pointer(3, string),
  description: field(4, string),
  type: field(5, string),
  format: field(6, string),
  title: field(7, string),
  default: pointer(8, opaque),
  maximum: pointer(9, double),
  exclusiveMaximum: field(10, boolean),
  minimum: pointer(11, double),
  exclusiveMinimum: field(12, boolean),
  maxLength: pointer(13, int64),
  minLength: pointer(14, int64),
  pattern: field(15, string),
  maxItems: pointer(16, int64),
  minItems: pointer(17, int64),
  uniqueItems: field(18, boolean),
  multipleOf: pointer(19, double),
  enum: field(20, array(opaque)),
  maxProperties: pointer(21, int64),
  minProperties: pointer(22, int64),
  required: field(23, array(string)),
  items: field(24, orArray),
  allOf: field(25, array(jsonSchemaProps)),
  oneOf: field(26, array(jsonSchemaProps)),
  anyOf: field(27, array(jsonSchemaProps)),
  not: field(28, jsonSchemaProps),
  properties: field(29, map(jsonSchemaProps)),
  additionalProperties: pointer(30, orBool),
  patternProperties: field(31, map(jsonSchemaProps)),
  dependencies: field(32, map(orStrings)),
  additionalItems: pointer(33, orBool),
  definitions: field(34, map(jsonSchemaProps)),
  externalDocs: field(35, object('ExternalDocumentation', { description: field(1, string), url: field(2, string) })),
  example: pointer(36, opaque),
  nullable: field(37, boolean),
  'x-kubernetes-preserve-unknown-fields': pointer(38, boolean),
  'x-kubernetes-embedded-resource': field(39, boolean),
  'x-kubernetes-int-or-string': field(40, boolean),
  'x-kubernetes-list-map-keys': field(41, array(string)),
  'x-kubernetes-list-type': pointer(42, string),
  'x-kubernetes-map-type': pointer(43, string),
  'x-kubernetes-validations': field(44, array(ValidationRuleSchema)),
});
