import type { PersistentVolumeClaim } from '../../core/persistent-volume-claim.ts';
import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate } from '../../core/volume-source.ts';
import { quantitySign } from '../../quantity.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import {
  isInvalidSelector,
  validateAnnotations,
  validateLabels,
  validateLabelSelector,
  validateObjectMeta,
} from '../metadata.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../names.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** Validates the claim template of an ephemeral volume (upstream: ValidatePersistentVolumeClaimTemplate). */
export function validateClaimTemplate(
  errors: FieldErrors,
  path: string,
  template: PersistentVolumeClaimTemplate | undefined,
): void {
  const at = `${path}.volumeClaimTemplate`;
  if (template === undefined) return errors.required(at);
  const { annotations, labels, ...others } = template.metadata ?? {};
  validateAnnotations(errors, `${at}.metadata.annotations`, annotations);
  validateLabels(errors, `${at}.metadata.labels`, labels);
  for (const [field, value] of Object.entries(others))
    if (value !== undefined && value !== '') errors.forbidden(`${at}.metadata.${field}`, 'cannot be set');
  validateClaimSpec(errors, `${at}.spec`, template.spec);
}

/** Validates a new PersistentVolumeClaim (upstream: ValidatePersistentVolumeClaim). */
export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim): FieldError[] {
  const errors = new FieldErrors();
  validateWholeClaim(errors, claim, {});
  return errors.list;
}

/** Faults of a stored claim that older versions accepted. */
export interface ClaimLeniency {
  /** Any label value is allowed in the selector. */
  readonly anyValue?: boolean;
  /** Any API group is allowed in the data source. */
  readonly anyGroup?: boolean;
}

/** Upstream: ValidationOptionsForPersistentVolumeClaim. */
export function leniencyFor({ spec: { selector, dataSource, dataSourceRef } }: PersistentVolumeClaim): ClaimLeniency {
  return {
    anyValue: isInvalidSelector(selector),
    anyGroup: dataSource?.apiGroup !== undefined || dataSourceRef?.apiGroup !== undefined,
  };
}

export function validateWholeClaim(errors: FieldErrors, claim: PersistentVolumeClaim, leniency: ClaimLeniency): void {
  validateObjectMeta(errors, 'metadata', claim.metadata);
  validateClaimSpec(errors, 'spec', claim.spec, leniency);
}

/** Upstream: ValidatePersistentVolumeClaimSpec. */
export function validateClaimSpec(
  errors: FieldErrors,
  path: string,
  spec: PersistentVolumeClaimSpec,
  leniency: ClaimLeniency = {},
): void {
  const modes: readonly string[] = spec.accessModes ?? [];
  if (modes.length === 0) errors.required(`${path}.accessModes`, 'at least 1 access mode is required');
  validateLabelSelector(errors, `${path}.selector`, spec.selector, leniency);
  for (const mode of modes) errors.oneOf(`${path}.accessModes`, mode, accessModes);
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    errors.forbidden(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes');
  const storage = spec.resources?.requests?.['storage'];
  if (storage === undefined) errors.required(`${path}.resources[storage]`);
  else if (quantitySign(storage) <= 0)
    errors.invalid(`${path}.resources[storage]`, storage, 'must be greater than zero');
  if (spec.storageClassName)
    errors.invalidEach(`${path}.storageClassName`, spec.storageClassName, checkDnsSubdomain(spec.storageClassName));
  if (spec.volumeMode !== undefined) errors.oneOf(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']);
  for (const field of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[field];
    if (source !== undefined) validateDataSource(errors, `${path}.${field}`, source, leniency);
  }
  validateSourcePair(errors, path, spec);
  if (spec.volumeAttributesClassName)
    errors.invalidEach(
      `${path}.volumeAttributesClassName`,
      spec.volumeAttributesClassName,
      checkDnsSubdomain(spec.volumeAttributesClassName),
    );
}

/** Upstream prints the field name in place of the value. */
function validateSourcePair(
  errors: FieldErrors,
  path: string,
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
): void {
  const namespace = dataSourceRef?.namespace ?? '';
  if (namespace !== '') errors.invalidEach(`${path}.dataSourceRef.namespace`, namespace, checkDnsLabel(namespace));
  if (dataSource === undefined || dataSourceRef === undefined) return;
  const field = { name: 'dataSource' };
  if (namespace !== '') errors.invalid(path, field, 'may not be specified when dataSourceRef.namespace is specified');
  else if (
    dataSource.apiGroup !== dataSourceRef.apiGroup ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  )
    errors.invalid(path, field, 'must match dataSourceRef');
}

function validateDataSource(
  errors: FieldErrors,
  path: string,
  source: { readonly apiGroup?: string; readonly kind: string; readonly name: string },
  { anyGroup = false }: ClaimLeniency,
): void {
  if (source.name === '') errors.required(`${path}.name`);
  if (source.kind === '') errors.required(`${path}.kind`);
  if (!source.apiGroup) {
    if (source.kind !== 'PersistentVolumeClaim')
      errors.invalid(path, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  } else if (!anyGroup) errors.invalidEach(`${path}.apiGroup`, source.apiGroup, checkDnsSubdomain(source.apiGroup));
}
