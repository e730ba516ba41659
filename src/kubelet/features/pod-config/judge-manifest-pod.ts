import type { Pod } from '../../../api/core/pod.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';

/** Returns the problems of a pod of a manifest that the API server's validation would report. */
export function judgeManifestPod(pod: Pod): { field: string; message: string }[] {
  return validatePod(pod, permissivePolicy).map(({ field, message }) => ({ field, message }));
}
