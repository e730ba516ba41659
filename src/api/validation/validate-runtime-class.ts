import type { Toleration } from '../core/scheduling.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateLabels, validateObjectMeta } from './metadata.ts';
import { checkDnsLabel } from './names.ts';
import { validateResourceRequirements } from './pod/resource-requirements.ts';
import { validateTolerations } from './pod/scheduling.ts';

/** Validates a new runtime class (upstream: node/validation ValidateRuntimeClass). */
export function validateRuntimeClass(runtimeClass: RuntimeClass): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', runtimeClass.metadata, { clusterScoped: true });
  if (runtimeClass.handler === '') errors.required('handler');
  else errors.invalidEach('handler', runtimeClass.handler, checkDnsLabel(runtimeClass.handler));
  const podFixed = runtimeClass.overhead?.podFixed;
  // Upstream checks them as the limits of a container, and its paths say so.
  if (podFixed !== undefined)
    validateResourceRequirements(
      errors,
      'overhead',
      { limits: podFixed },
      { level: 'container', claimNames: new Set() },
    );
  validateLabels(errors, 'scheduling.nodeSelector', runtimeClass.scheduling?.nodeSelector);
  validateUniqueTolerations(errors, 'scheduling.tolerations', runtimeClass.scheduling?.tolerations ?? []);
  return errors.list;
}

function validateUniqueTolerations(errors: FieldErrors, path: string, tolerations: readonly Toleration[]): void {
  validateTolerations(errors, path, tolerations);
  const seen = new Set<string>();
  for (const [index, toleration] of tolerations.entries()) {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) errors.duplicate(`${path}[${index}]`, toleration);
    seen.add(identity);
  }
}
