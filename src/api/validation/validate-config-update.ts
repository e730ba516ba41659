import type { ConfigMap } from '../core/config-map.ts';
import type { Secret } from '../core/secret.ts';
import { semanticEqual } from '../semantic-equal.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateImmutable } from './immutable.ts';
import { validateConfigMap, validateSecret } from './validate-config.ts';

/** Upstream: ValidateConfigMapUpdate. */
export function validateConfigMapUpdate(configMap: ConfigMap, old: ConfigMap): FieldError[] {
  const errors = new FieldErrors();
  requireFrozen(errors, configMap, old, ['data', 'binaryData']);
  errors.list.push(...validateConfigMap(configMap));
  return errors.list;
}

/** Upstream: ValidateSecretUpdate. */
export function validateSecretUpdate(secret: Secret, old: Secret): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'type', secret.type ?? '', old.type);
  requireFrozen(errors, secret, old, ['data']);
  errors.list.push(...validateSecret(secret));
  return errors.list;
}

type Freezable = Pick<ConfigMap, 'immutable' | 'data' | 'binaryData'>;

/** The content of an immutable object must not change, nor the flag. */
function requireFrozen(
  errors: FieldErrors,
  object: Freezable,
  old: Freezable,
  fields: readonly ('data' | 'binaryData')[],
): void {
  if (old.immutable !== true) return;
  const frozen = 'field is immutable when `immutable` is set';
  if (object.immutable !== true) errors.forbidden('immutable', frozen);
  for (const field of fields) if (!semanticEqual(object[field], old[field])) errors.forbidden(field, frozen);
}
