import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { dropZeros } from '../../../api/protobuf/drop-zeros.ts';
import { decodeAny, formatDecodeError } from '../../../api/schema/decode.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { applyJsonPatch, isFailedTest } from '../../patch/json-patch.ts';

/**
 * Applies a webhook's JSON patch to an object and sets defaults. Unknown fields are dropped. Throws if the patch is
 * invalid or does not apply.
 */
export function patchedByWebhook(
  attributes: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  patch: unknown,
): ApiObject {
  return decodeChanged(attributes, document, applyJsonPatch(document, patch));
}

/** The same for a policy's patch. If a test of the patch fails, the object stays unchanged. */
export function patchedByPolicy(
  attributes: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  patch: unknown,
): ApiObject | 'unchanged' {
  try {
    return patchedByWebhook(attributes, document, patch);
  } catch (error) {
    if (isFailedTest(error)) return 'unchanged';
    throw error;
  }
}

/** Decodes a changed document and sets defaults. Throws if it is not a valid object. */
export function decodeChanged(
  { definition, subresource }: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  changed: unknown,
): ApiObject {
  const part =
    definition.actions?.find(({ name }) => name === subresource) ??
    definition.views?.find(({ name }) => name === subresource);
  const schema = part?.schema ?? definition.schema;
  const isOwnKind = part?.schema === undefined;
  const { value, errors } =
    isOwnKind && definition.readBody !== undefined
      ? definition.readBody(changed)
      : decodeAny(schema, changed, { mode: 'lenient', noHints: true });
  if (errors.length > 0) throw new Error(errors.map(formatDecodeError).join(', '));
  // The schema is that of an API object, so the metadata exists.
  const object =
    isOwnKind && definition.readBody !== undefined ? (value as ApiObject) : dropZeros(value as ApiObject, schema);
  const { kind, apiVersion } = document as { readonly kind: string; readonly apiVersion: string };
  const typed = {
    ...object,
    kind: isOwnKind ? definition.type.kind : kind,
    apiVersion: isOwnKind ? apiVersionOf(definition.type) : apiVersion,
  };
  return isOwnKind ? definition.rules.applyDefaults(typed) : typed;
}
