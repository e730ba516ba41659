import type { FieldErrors } from '../field-error.ts';

/** Checks of paths in containers and volumes (upstream: core/validation validatePathNoBacksteps and neighbours). */
export function validateNoBacksteps(errors: FieldErrors, field: string, path: string): void {
  if (path.split('/').includes('..')) errors.invalid(field, path, "must not contain '..'");
}

export function validateDescendingPath(errors: FieldErrors, field: string, path: string): void {
  if (path.startsWith('/')) errors.invalid(field, path, 'must be a relative path');
  validateNoBacksteps(errors, field, path);
}

/** Names that start with two dots are reserved for the atomic writer. */
export function validateLocalPath(errors: FieldErrors, field: string, path: string): void {
  validateDescendingPath(errors, field, path);
  if (path.startsWith('..') && !path.startsWith('../')) errors.invalid(field, path, "must not start with '..'");
}

export function validateFileMode(errors: FieldErrors, field: string, mode: number | undefined): void {
  if (mode !== undefined && (mode > 0o777 || mode < 0))
    errors.invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}
