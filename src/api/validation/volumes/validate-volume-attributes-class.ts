import type { VolumeAttributesClass } from '../../storage/volume-attributes-class.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateParameters, validateProvisioner } from './validate-storage.ts';

/** Upstream: storage/validation ValidateVolumeAttributesClass. */
export function validateVolumeAttributesClass({ driverName, parameters = {} }: VolumeAttributesClass): FieldError[] {
  const errors = new FieldErrors();
  validateProvisioner(errors, 'driverName', driverName);
  validateParameters(errors, parameters);
  if (Object.keys(parameters).length === 0) errors.required('parameters', 'must contain at least one key/value pair');
  return errors.list;
}

export function validateVolumeAttributesClassUpdate(
  attributesClass: VolumeAttributesClass,
  old: VolumeAttributesClass,
): FieldError[] {
  const errors = new FieldErrors();
  if (attributesClass.driverName !== old.driverName)
    errors.forbidden('driverName', 'updates to driverName are forbidden.');
  if (!semanticEqual(attributesClass.parameters ?? {}, old.parameters ?? {}))
    errors.forbidden('parameters', 'updates to parameters are forbidden.');
  return [...errors.list, ...validateVolumeAttributesClass(attributesClass)];
}
