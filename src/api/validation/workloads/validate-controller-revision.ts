import type { ControllerRevision } from '../../apps/controller-revision.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';

/** Validates a ControllerRevision, except its metadata (upstream: apps/validation ValidateControllerRevisionCreate). */
export function validateControllerRevision({ data, revision }: ControllerRevision): FieldError[] {
  const errors = new FieldErrors();
  errors.nonNegative('revision', revision);
  if (data === undefined || data === null) errors.required('data', 'data is mandatory');
  else if (typeof data !== 'object' || Array.isArray(data)) errors.required('data', 'data must be a valid JSON object');
  return errors.list;
}

export function validateControllerRevisionUpdate(revision: ControllerRevision, old: ControllerRevision): FieldError[] {
  const errors = new FieldErrors();
  errors.nonNegative('revision', revision.revision);
  validateImmutable(errors, 'data', revision.data, old.data);
  return errors.list;
}
