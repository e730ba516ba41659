import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { decodeMessage, openEnvelope, ProtobufError, ProtobufTooLarge } from '../../../api/protobuf/decode-protobuf.ts';
import { dropZeros } from '../../../api/protobuf/drop-zeros.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { decodeAny, formatDecodeError } from '../../../api/schema/decode.ts';
import type { Decoded, DecodeOptions } from '../../../api/schema/decode.ts';
import type { ObjectSchema, Schema } from '../../../api/schema/schema.ts';
import { ApiStatusError, badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { tooManyValues } from '../../../api/status/too-many-values.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import { isRecord } from '../../../base/json-record.ts';
import type { RequestContext } from '../../model/request-context.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { WriteBody } from '../registry.ts';
import { computeBodyDoubts } from './field-doubts.ts';

export interface BodyKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: ObjectSchema;
  readonly hideValues?: boolean;
  readonly readBody?: ResourceDefinition['readBody'];
}

/**
 * Decodes a body. Throws BadRequest for another kind or wrong types. Depending on the request's field validation,
 * unknown and duplicate fields are rejected, cause a warning or are dropped.
 */
export function decodeBody(body: WriteBody, expected: BodyKind, context: RequestContext): ApiObject {
  if (body.protobuf !== undefined && expected.readBody !== undefined) throw notProtobuf();
  const value = body.protobuf === undefined ? body.value : fromProtobuf(body.protobuf, expected);
  const { kind } = expected;
  const apiVersion = apiVersionOf(expected);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest(`couldn't get version/kind; json parse error: expected an object of kind ${kind}`);
  if (expected.readBody !== undefined) requireKind(value, expected);
  checkKind(value, apiVersion, kind);
  const { value: decoded, errors, warnings } = readObject(expected, value);
  const refuse = (texts: readonly string[]): never => {
    throw badRequest(
      `${kind} in version ${JSON.stringify(expected.version)} cannot be handled as a ${kind}: ${texts.join(', ')}`,
    );
  };
  if (errors.length > 0) refuse(errors.map(formatDecodeError));
  if (context.fieldValidation !== 'Ignore') {
    const doubts = computeBodyDoubts(body, expected.readBody === undefined ? expected.schema : undefined, warnings);
    if (doubts !== undefined && context.fieldValidation === 'Strict') refuse([doubts.refusal]);
    for (const doubt of doubts?.warnings ?? []) context.warn(doubt);
  }
  // Custom kinds have no zero values for absent fields.
  const object =
    expected.readBody === undefined ? dropZeros(decoded as ApiObject, expected.schema) : (decoded as ApiObject);
  // The schema is that of an API object, so the metadata exists.
  return { ...object, kind, apiVersion };
}

/** Decodes a body leniently. Throws for too many values. */
export function readObject(
  expected: Pick<BodyKind, 'schema' | 'readBody' | 'hideValues'>,
  value: unknown,
): Decoded<unknown> {
  if (expected.readBody !== undefined) return expected.readBody(value);
  return decodeObject(expected.schema, value, {
    mode: 'lenient',
    noHints: true,
    ...(expected.hideValues === true && { hideValues: true }),
  });
}

/** Decodes an object. Throws if it has more values than an object may have, whatever its encoding. */
function decodeObject(schema: Schema, value: unknown, options: DecodeOptions): Decoded<unknown> {
  const decoded = decodeAny(schema, value, { ...options, maxValues: objectLimits.objectValues });
  if (decoded.errors.at(-1)?.problem === 'tooManyValues') throw tooManyValues(objectLimits.objectValues);
  return decoded;
}

/** Builds the error for a protobuf body of a custom kind, which has no protobuf form. */
const notProtobuf = (): ApiStatusError =>
  new ApiStatusError(
    'UnsupportedMediaType',
    'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
  );

/** Decodes protobuf. The kind is checked first, because the message cannot be decoded as another kind. */
function fromProtobuf(bytes: Uint8Array, expected: BodyKind): unknown {
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes);
    checkKind({ apiVersion, kind }, apiVersionOf(expected), expected.kind);
    return { ...decodeMessage(raw, expected.schema), apiVersion, kind };
  } catch (error) {
    if (error instanceof ProtobufTooLarge) throw tooManyValues(objectLimits.bodyValues);
    if (error instanceof ProtobufError) throw badRequest(error.message);
    throw error;
  }
}

/**
 * Requires a kind in the body. Upstream never guesses the kind of a custom object (upstream: apiextensions
 * unstructuredNegotiatedSerializer).
 */
function requireKind(
  value: { readonly kind?: unknown; readonly apiVersion?: unknown; readonly metadata?: unknown },
  expected: BodyKind,
): void {
  const { kind } = expected;
  for (const [name, text] of [
    ['Kind', value.kind],
    ['apiVersion', value.apiVersion],
  ] as const)
    if ((text ?? '') === '')
      throw badRequest(`the object provided is unrecognized (must be of type ${kind}): Object '${name}' is missing`);
  if (value.kind !== kind) throw otherCustomKind({ ...value, apiVersion: apiVersionOf(expected) }, expected);
}

/** Builds the error for a custom object whose kind differs from that of its path. */
export function otherCustomKind(
  value: { readonly kind?: unknown; readonly apiVersion?: unknown; readonly metadata?: unknown },
  expected: BodyKind,
): ApiStatusError {
  const { metadata } = value;
  const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  const [kind, apiVersion] = [String(value.kind), String(value.apiVersion)];
  const errors = new FieldErrors();
  if (kind !== expected.kind) errors.invalid('kind', kind, `must be ${expected.kind}`);
  if (apiVersion !== apiVersionOf(expected))
    errors.invalid('apiVersion', apiVersion, `must be ${apiVersionOf(expected)}`);
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  return invalid({ group, kind }, name, errors.list);
}

function checkKind(
  value: { readonly kind?: unknown; readonly apiVersion?: unknown },
  apiVersion: string,
  kind: string,
): void {
  const given = { apiVersion: value.apiVersion ?? '', kind: value.kind ?? '' };
  if (given.apiVersion !== '' && given.apiVersion !== apiVersion) {
    throw badRequest(
      `the API version in the data (${String(given.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (given.kind !== '' && given.kind !== kind)
    throw badRequest(`the kind in the data (${String(given.kind)}) does not match the expected kind (${kind})`);
}
