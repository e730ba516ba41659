/** Rules of StorageVersionMigrations (upstream: apis/storagemigration/validation). */
import { isConditionTrue } from '../../conditions.ts';
import type { StorageVersionMigration } from '../../storagemigration/storage-version-migration.ts';
import { validateConditions } from '../conditions.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { IMMUTABLE_MESSAGE, validateImmutable } from '../immutable.ts';
import { checkDns1035Label, checkDnsSubdomain } from '../names.ts';

/** Validates a StorageVersionMigration, except its metadata. */
export function validateStorageVersionMigration({ spec }: StorageVersionMigration): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  return errors.list;
}

export function validateStorageVersionMigrationUpdate(
  { spec }: StorageVersionMigration,
  old: StorageVersionMigration,
): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  // Shown in upstream's internal form.
  validateImmutable(errors, 'spec', { Resource: spec.resource }, { Resource: old.spec.resource });
  return errors.list;
}

function validateSpec(errors: FieldErrors, { resource: { group, resource } }: StorageVersionMigration['spec']): void {
  const path = 'spec.resource';
  if (resource === '') errors.required(`${path}.resource`, 'resource is required to be set');
  else joined(errors, `${path}.resource`, resource, checkDns1035Label(resource));
  if (group !== '') joined(errors, `${path}.group`, group, checkDnsSubdomain(group));
}

/** Reports all errors of one value as one error. */
function joined(errors: FieldErrors, path: string, value: string, complaints: readonly string[]): void {
  if (complaints.length > 0) errors.invalid(path, value, complaints.join(','));
}

const wholeNumber = /^[1-9]\d*$/;

/** The result and the initial version are immutable (upstream: ValidateStorageVersionMigrationStatusUpdate). */
export function validateStorageVersionMigrationStatus(
  { status = {} }: StorageVersionMigration,
  { status: old = {} }: StorageVersionMigration,
): FieldError[] {
  const errors = new FieldErrors();
  const { resourceVersion = '', conditions = [] } = status;
  const versionPath = 'status.resourceVersion';
  if (resourceVersion !== '' && !wholeNumber.test(resourceVersion))
    errors.invalid(versionPath, resourceVersion, `resource version is not well formed: ${resourceVersion}`);
  const path = 'status.conditions';
  validateConditions(errors, path, conditions);
  if ((old.resourceVersion ?? '') !== '' && old.resourceVersion !== resourceVersion)
    errors.invalid(versionPath, resourceVersion, IMMUTABLE_MESSAGE);
  const [succeeded, failed] = [isConditionTrue(conditions, 'Succeeded'), isConditionTrue(conditions, 'Failed')];
  if (succeeded && failed)
    errors.invalid(path, conditions, 'Both success and failed conditions cannot be true at the same time');
  if (isConditionTrue(old.conditions, 'Succeeded') && !succeeded)
    errors.invalid(path, conditions, 'Success condition cannot be set to false once it is true');
  if (isConditionTrue(old.conditions, 'Failed') && !failed)
    errors.invalid(path, conditions, 'Failed condition cannot be set to false once it is true');
  return errors.list;
}
