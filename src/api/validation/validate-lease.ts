import type { Lease } from '../coordination/lease.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { checkLabelKey } from './names.ts';

/** Validates a lease on create and update, without metadata (upstream: coordination/validation ValidateLeaseSpec). */
export function validateLease({ spec }: Lease): FieldError[] {
  const errors = new FieldErrors();
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
    errors.invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0');
  errors.nonNegative('spec.leaseTransitions', leaseTransitions);
  // Upstream's path repeats the field.
  if (strategy?.includes('/') === true) errors.invalidEach('spec.strategy.strategy', strategy, checkLabelKey(strategy));
  else if (strategy !== undefined) errors.oneOf('spec.strategy.strategy', strategy, ['OldestEmulationVersion']);
  if (preferredHolder && !strategy)
    errors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined');
  return errors.list;
}
