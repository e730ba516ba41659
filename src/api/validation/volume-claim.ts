import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate } from '../core/volume-source.ts';
import { quantitySign } from '../quantity.ts';
import type { FieldErrors } from './field-error.ts';
import { validateAnnotations, validateLabels, validateLabelSelector } from './metadata.ts';
import { checkDnsSubdomain } from './names.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** The claim that an ephemeral volume brings along (upstream: ValidatePersistentVolumeClaimTemplate). */
export function validateClaimTemplate(errors: FieldErrors, path: string, template: PersistentVolumeClaimTemplate | undefined): void {
  const at = `${path}.volumeClaimTemplate`;
  if (template === undefined) return errors.required(at);
  const { annotations, labels, ...others } = template.metadata ?? {};
  validateAnnotations(errors, `${at}.metadata.annotations`, annotations);
  validateLabels(errors, `${at}.metadata.labels`, labels);
  for (const [field, value] of Object.entries(others)) if (value !== undefined && value !== '') errors.forbidden(`${at}.metadata.${field}`, 'cannot be set');
  validateClaimSpec(errors, `${at}.spec`, template.spec);
}

function validateClaimSpec(errors: FieldErrors, path: string, spec: PersistentVolumeClaimSpec): void {
  const modes: readonly string[] = spec.accessModes ?? [];
  if (modes.length === 0) errors.required(`${path}.accessModes`, 'at least 1 access mode is required');
  validateLabelSelector(errors, `${path}.selector`, spec.selector);
  for (const mode of modes) errors.oneOf(`${path}.accessModes`, mode, accessModes);
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod')) errors.forbidden(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes');
  const storage = spec.resources?.requests?.['storage'];
  if (storage === undefined) errors.required(`${path}.resources[storage]`);
  else if (quantitySign(storage) <= 0) errors.invalid(`${path}.resources[storage]`, storage, 'must be greater than zero');
  if (spec.storageClassName) errors.invalidEach(`${path}.storageClassName`, spec.storageClassName, checkDnsSubdomain(spec.storageClassName));
  if (spec.volumeMode !== undefined) errors.oneOf(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']);
  for (const field of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[field];
    if (source !== undefined) validateDataSource(errors, `${path}.${field}`, source);
  }
  if (spec.volumeAttributesClassName) errors.invalidEach(`${path}.volumeAttributesClassName`, spec.volumeAttributesClassName, checkDnsSubdomain(spec.volumeAttributesClassName));
}

function validateDataSource(errors: FieldErrors, path: string, source: { readonly apiGroup?: string; readonly kind: string; readonly name: string }): void {
  if (source.name === '') errors.required(`${path}.name`);
  if (source.kind === '') errors.required(`${path}.kind`);
  if (!source.apiGroup) {
    if (source.kind !== 'PersistentVolumeClaim') errors.invalid(path, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  } else errors.invalidEach(`${path}.apiGroup`, source.apiGroup, checkDnsSubdomain(source.apiGroup));
}
