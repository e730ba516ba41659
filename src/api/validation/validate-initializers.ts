/** Rules of initializers (upstream, until 1.15: apimachinery/validation/objectmeta.go). */
import type { InitializerConfiguration } from '../admissionregistration/initializer-configuration.ts';
import type { Initializers } from '../core/initializers.ts';
import { semanticEqual } from '../semantic-equal.ts';
import type { Status } from '../status/status.ts';
import { validateQualified, validateRule } from './access/validate-webhooks.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateObjectMeta } from './metadata.ts';

const FIELD = 'metadata.initializers';

export function validateInitializers(value: Initializers | undefined): readonly FieldError[] {
  const errors = new FieldErrors();
  for (const [index, { name }] of (value?.pending ?? []).entries())
    validateQualified(errors, `${FIELD}.pending[${index}].name`, name);
  validateResult(errors, value?.result);
  return errors.list;
}

function validateResult(errors: FieldErrors, result: Status | undefined): void {
  if (result !== undefined && result.status !== 'Failure')
    errors.invalid(`${FIELD}.result.status`, result.status ?? '', "must be 'Failure'");
}

/** Objects are initialized only once, and a result is final (upstream: ValidateInitializersUpdate). */
export function validateInitializersUpdate(
  value: Initializers | undefined,
  old: Initializers | undefined,
): readonly FieldError[] {
  const errors = new FieldErrors();
  if (old === undefined && value !== undefined)
    errors.invalid(FIELD, null, 'field is immutable once initialization has completed');
  if (old?.result !== undefined && value !== undefined && !semanticEqual(value.result, old.result))
    errors.invalid(`${FIELD}.result`, value.result ?? null, 'field is immutable');
  return errors.list;
}

/** Rules have no operations, because initializers only process creations. */
export function validateInitializerConfiguration({
  metadata,
  initializers = [],
}: InitializerConfiguration): readonly FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  for (const [index, { name, rules = [] }] of initializers.entries()) {
    const path = `initializers[${index}]`;
    validateQualified(errors, `${path}.name`, name);
    for (const [at, rule] of rules.entries()) {
      const field = `${path}.rules[${at}]`;
      validateRule(errors, field, { ...rule, operations: ['CREATE'] });
      for (const [place, resource] of (rule.resources ?? []).entries())
        if (resource.includes('/'))
          errors.invalid(`${field}.resources[${place}]`, resource, 'must not specify subresources');
    }
  }
  return errors.list;
}
