import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { dropZeros } from '../../../api/protobuf/drop-zeros.ts';
import { decodeAny, formatDecodeError } from '../../../api/schema/decode.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';

/**
 * What a webhook's JSON patch makes of an object, as the object it has to be, with its defaults. Unknown fields are
 * dropped. Throws when it does not apply, or is none.
 */
export function patchedByWebhook(
  attributes: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  patch: unknown,
): ApiObject {
  return decodeChanged(attributes, document, applyJsonPatch(document, patch));
}

/** A changed document as the object it has to be, with its defaults. Throws when it is none. */
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
  // The schema is that of an object of the API, whose metadata is required.
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
