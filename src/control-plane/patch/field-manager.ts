import { FieldErrors } from '../../api/validation/field-error.ts';
import type { FieldError } from '../../api/validation/field-error.ts';

/** In bytes of UTF-8 (meta/v1 validation: FieldManagerMaxLength). */
const maxBytes = 128;
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Who writes, when the request does not say: the user agent up to its first `/`, without what cannot be printed. */
export function fieldManagerOf(asked: string, userAgent: string): string {
  if (asked !== '') return asked;
  let name = '';
  let bytes = 0;
  for (const character of userAgent.split('/', 1)[0] ?? '') {
    if (unprintable.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    name += character;
  }
  return name;
}

/** What is wrong with the `fieldManager` of a request's options; for an apply it must be there. */
export function validateFieldManager(manager: string, patch: 'apply' | 'other'): readonly FieldError[] {
  const errors = new FieldErrors();
  if (patch === 'apply' && manager === '') errors.required('fieldManager', 'is required for apply patch');
  if (Buffer.byteLength(manager) > maxBytes) errors.tooLong('fieldManager', maxBytes);
  let position = 0;
  for (const character of manager) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    if (unprintable.test(character)) errors.invalid('fieldManager', manager, `invalid character U+${code} (at position ${position})`);
    position += Buffer.byteLength(character);
  }
  return errors.list;
}
