import type { Namespace } from '../core/namespace.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { isNamelessFinalizer, NAMELESS_FINALIZER } from './metadata.ts';
import { checkLabelKey } from './names.ts';

/** Validates a namespace, except its metadata (upstream: core/validation ValidateNamespace). */
export function validateNamespace({ spec }: Namespace): FieldError[] {
  const errors = new FieldErrors();
  for (const finalizer of spec.finalizers ?? []) validateFinalizer(errors, 'spec.finalizers', finalizer);
  return errors.list;
}

/** Validates a write to `finalize`. */
export function validateNamespaceFinalize({ spec }: Namespace): FieldError[] {
  const errors = new FieldErrors();
  for (const [index, finalizer] of (spec.finalizers ?? []).entries())
    validateFinalizer(errors, `spec.finalizers[${index}]`, finalizer);
  return errors.list;
}

export function validateNamespaceStatus({ metadata, status }: Namespace): FieldError[] {
  const errors = new FieldErrors();
  const phase = status?.phase ?? '';
  const isDeleted = metadata.deletionTimestamp !== undefined;
  // The capital is upstream's.
  if (!isDeleted && phase !== 'Active')
    errors.invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty");
  if (isDeleted && phase !== 'Terminating')
    errors.invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
  return errors.list;
}

function validateFinalizer(errors: FieldErrors, field: string, finalizer: string): void {
  errors.invalidEach(field, finalizer, checkLabelKey(finalizer));
  if (isNamelessFinalizer(finalizer)) errors.invalid(field, finalizer, NAMELESS_FINALIZER);
}
