import type { DeviceClass, DeviceClassSpec } from '../../resource/device-class.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateObjectMeta } from '../metadata.ts';
import { isExtended } from '../resource-names.ts';
import { validateDeviceConfiguration, validateItems, validateSelectors } from './device-parts.ts';

const MAX_CONFIGURATIONS = 32;

/** Upstream: apis/resource/validation ValidateDeviceClass. Updates follow the same rules. */
export function validateDeviceClass({ metadata, spec }: DeviceClass): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateSpec(errors, 'spec', spec);
  return errors.list;
}

function validateSpec(errors: FieldErrors, path: string, spec: DeviceClassSpec): void {
  validateSelectors(errors, `${path}.selectors`, spec.selectors ?? []);
  validateItems(errors, `${path}.config`, spec.config ?? [], MAX_CONFIGURATIONS, (config, at) =>
    validateDeviceConfiguration(errors, at, config),
  );
  const { extendedResourceName: name } = spec;
  if (name !== undefined && !isExtended(name))
    errors.invalid(`${path}.extendedResourceName`, name, 'must be a valid extended resource name');
}
