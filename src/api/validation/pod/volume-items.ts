import type { DownwardAPIVolumeFile, KeyToPath } from '../../core/volume-source.ts';
import { validateFieldRef, validateResourceFieldRef, volumeFields } from './env.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateFileMode, validateLocalPath } from './paths.ts';

/** Checks items of volumes with files: each has one key or field. */
export function requireText(errors: FieldErrors, field: string, text: string | undefined): void {
  if (!text) errors.required(field);
}

export function validateKeyToPath(errors: FieldErrors, path: string, item: KeyToPath): void {
  requireText(errors, `${path}.key`, item.key);
  requireText(errors, `${path}.path`, item.path);
  validateLocalPath(errors, `${path}.path`, item.path);
  validateFileMode(errors, `${path}.mode`, item.mode);
}

export function validateDownwardFile(errors: FieldErrors, path: string, file: DownwardAPIVolumeFile): void {
  requireText(errors, `${path}.path`, file.path);
  validateLocalPath(errors, `${path}.path`, file.path);
  if (file.fieldRef !== undefined) {
    validateFieldRef(errors, `${path}.fieldRef`, file.fieldRef, volumeFields);
    if (file.resourceFieldRef !== undefined)
      errors.invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
  } else if (file.resourceFieldRef !== undefined)
    validateResourceFieldRef(errors, `${path}.resourceFieldRef`, file.resourceFieldRef, 'volume');
  else errors.required(path, 'one of fieldRef and resourceFieldRef is required');
  validateFileMode(errors, `${path}.mode`, file.mode);
}
