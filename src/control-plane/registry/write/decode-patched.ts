import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { dropZeros } from '../../../api/protobuf/drop-zeros.ts';
import { formatDecodeError } from '../../../api/schema/decode.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { RequestContext } from '../../model/request-context.ts';
import { formatGoValue } from '../../patch/json-value.ts';
import { otherCustomKind, readObject } from './decode-body.ts';
import type { BodyKind } from './decode-body.ts';
import { computePatchDoubts } from './field-doubts.ts';
import type { PatchBody } from '../registry.ts';

/**
 * Decodes the result of a JSON, merge or strategic patch. Throws Invalid with the field `patch` if it is not a valid
 * object. Depending on the request's field validation, unknown and duplicate fields are rejected, cause a warning or
 * are dropped (upstream: handlers/patch.go).
 */
export function decodePatched(
  patched: unknown,
  patch: PatchBody,
  { expected, context }: { readonly expected: BodyKind; readonly context: RequestContext },
): ApiObject {
  const hideValues = expected.hideValues === true;
  const refuse = (problem: string): never => {
    const shown = hideValues ? '' : patch.type === 'strategic' ? formatGoValue(patch.value) : JSON.stringify(patched);
    const cause = {
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${goQuote(shown)}: ${problem}`,
      field: 'patch',
    };
    throw new ApiStatusError('Invalid', ` "" is invalid: patch: ${cause.message}`, { causes: [cause] });
  };
  const { value, errors, warnings } = readObject(expected, patched);
  if (errors.length > 0) refuse(errors.map(formatDecodeError).join(', '));
  if (context.fieldValidation !== 'Ignore') {
    const doubts = computePatchDoubts(patch, warnings);
    if (doubts !== undefined && context.fieldValidation === 'Strict') refuse(doubts.refusal);
    for (const doubt of doubts?.warnings ?? []) context.warn(doubt);
  }
  // The schema is that of an API object, so the metadata exists.
  const object =
    expected.readBody === undefined ? dropZeros(value as ApiObject, expected.schema) : (value as ApiObject);
  const { kind = expected.kind, apiVersion = apiVersionOf(expected) } = object;
  if (kind !== expected.kind || apiVersion !== apiVersionOf(expected)) {
    if (expected.readBody !== undefined) throw otherCustomKind(object, expected);
    refuse(
      `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} here, only ${goQuote(expected.kind)}`,
    );
  }
  return { ...object, kind, apiVersion };
}
