import { DeleteOptionsSchema } from '../../../api/core/delete-options.ts';
import type { DeleteOptions } from '../../../api/core/delete-options.ts';
import { decodeMessage, openEnvelope, ProtobufError, ProtobufTooLarge } from '../../../api/protobuf/decode-protobuf.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { decode, formatDecodeError } from '../../../api/schema/decode.ts';
import { badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { tooManyValues } from '../../../api/status/too-many-values.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';

const policies = ['Foreground', 'Background', 'Orphan'];

/** Parses the options. Throws BadRequest if they cannot be decoded, Invalid if they are contradictory. */
export function parseDeleteOptions(value: unknown): DeleteOptions {
  const { value: options, errors: problems } = decode(DeleteOptionsSchema, value ?? {}, { mode: 'lenient' });
  if (problems.length > 0)
    throw badRequest(
      `DeleteOptions in version "v1" cannot be handled as a DeleteOptions: ${problems.map(formatDecodeError).join(', ')}`,
    );
  const errors = new FieldErrors();
  const { orphanDependents, propagationPolicy } = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    errors.invalid(
      'propagationPolicy',
      propagationPolicy,
      'orphanDependents and deletionPropagation cannot be both set',
    );
  else if (propagationPolicy !== undefined && !policies.includes(propagationPolicy))
    errors.notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']);
  if (errors.list.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors.list);
  return options;
}

/** Converts the options from protobuf to a plain value. */
export function deleteOptionsFromProtobuf(bytes: Uint8Array): unknown {
  try {
    return decodeMessage(openEnvelope(bytes).raw, DeleteOptionsSchema);
  } catch (error) {
    if (error instanceof ProtobufTooLarge) throw tooManyValues(objectLimits.bodyValues);
    if (error instanceof ProtobufError) throw badRequest(error.message);
    throw error;
  }
}
