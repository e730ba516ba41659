import type { Pod } from '../../../api/core/pod.ts';
import { unsupportedFields } from '../../model/parity/unsupported-fields.ts';
import type { AdmissionStep } from './admission-step.ts';

/**
 * Holds a pod of the API that asks for something this agent does not support yet, and says what: it would be broken, or
 * less isolated than asked. A manifest that asks for it is refused where it is read.
 */
export function unsupportedSteps(pod: Pod, unsupported = unsupportedFields(pod)): AdmissionStep[] {
  const missing = unsupported.filter(({ severity }) => severity === 'reject');
  if (missing.length === 0) return [];
  const why = missing.map(({ path, note }) => `${path}: ${note}`).join('; ');
  return [{ name: 'this agent', admit: () => ({ kind: 'hold', why: `not supported yet: ${why}` }) }];
}
