import type { Pod } from '../../../api/core/pod.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';
import { unsupportedFields } from '../../model/parity/unsupported-fields.ts';

/**
 * The problems of a pod of a manifest: from the API server's validation, and fields this agent does not support yet and
 * must not ignore.
 */
export function judgeManifestPod(pod: Pod): { field: string; message: string }[] {
  const refused = unsupportedFields(pod).filter((field) => field.severity === 'reject');
  const invalid = validatePod(pod, permissivePolicy).map((error) => ({ field: error.field, message: error.message }));
  return [
    ...invalid,
    ...refused.map((field) => ({
      field: field.path,
      message: `Forbidden: not supported by this agent yet: ${field.note}`,
    })),
  ];
}
