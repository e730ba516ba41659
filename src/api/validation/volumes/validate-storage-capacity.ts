import type { CSIStorageCapacity } from '../../storage/csi-storage-capacity.ts';
import { quantitySign } from '../../quantity.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateLabelSelector } from '../metadata.ts';
import { checkDnsSubdomain } from '../names.ts';

/** Upstream: storage/validation ValidateCSIStorageCapacity. */
export function validateCsiStorageCapacity({
  nodeTopology,
  storageClassName,
  capacity,
}: CSIStorageCapacity): FieldError[] {
  const errors = new FieldErrors();
  validateLabelSelector(errors, 'nodeTopology', nodeTopology);
  errors.invalidEach('storageClassName', storageClassName, checkDnsSubdomain(storageClassName));
  if (capacity !== undefined && quantitySign(capacity) < 0)
    errors.invalid('capacity', capacity, 'must be greater than or equal to 0');
  return errors.list;
}

/** The topology and the storage class are immutable; the reported capacity may change. */
export function validateCsiStorageCapacityUpdate(capacity: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'nodeTopology', capacity.nodeTopology, old.nodeTopology);
  validateImmutable(errors, 'storageClassName', capacity.storageClassName, old.storageClassName);
  return errors.list;
}
