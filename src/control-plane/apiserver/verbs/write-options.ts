import { lookupTable } from '../../../base/lookup.ts';
import { ApiStatusError, badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { FieldValidation } from '../../model/request-context.ts';
import { booleanOf } from './query-values.ts';

export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force?: boolean;
  readonly takesUninitialized?: boolean;
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const patchTypes: Readonly<Record<string, PatchType>> = lookupTable({
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
});

const LONGEST_MANAGER = 128;
const nothing: WriteQuery = { dryRun: false, fieldManager: '', fieldValidation: 'Warn' };

/** Parses CreateOptions, UpdateOptions or PatchOptions from a query; errors are 422 with upstream's causes. */
export function parseWriteQuery(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  patch?: PatchType,
): WriteQuery {
  if (query.size === 0 && patch !== 'apply') return nothing;
  const errors = new FieldErrors();
  const fieldManager = query.get('fieldManager') ?? '';
  const force = booleanOf(query, 'force');
  if (patch === 'apply' && fieldManager === '') errors.required('fieldManager', 'is required for apply patch');
  if (patch !== undefined && patch !== 'apply' && force !== undefined)
    errors.forbidden('force', 'may not be specified for non-apply patch');
  checkFieldManager(fieldManager, errors);
  const dryRun = query.getAll('dryRun');
  checkDryRun(dryRun, errors);
  const fieldValidation = query.get('fieldValidation') ?? '';
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(fieldValidation))
    errors.notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']);
  if (errors.list.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors.list);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    ...(force !== undefined && { force }),
    ...(booleanOf(query, 'includeUninitialized') === true && { takesUninitialized: true }),
  };
}

/** `dryRun` must be All or absent; an empty value is invalid. */
export function checkDryRun(values: readonly string[], errors: FieldErrors): void {
  if (values.some((value) => value !== 'All')) errors.notSupported('dryRun', values, ['All']);
}

function checkFieldManager(manager: string, errors: FieldErrors): void {
  if (Buffer.byteLength(manager) > LONGEST_MANAGER) errors.tooLong('fieldManager', LONGEST_MANAGER);
  let position = 0;
  for (const character of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      errors.invalid('fieldManager', manager, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

/** The patch type of a content type; the 415 error lists the supported ones. */
export function patchTypeOf(contentType: string | undefined): PatchType {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const found = patchTypes[type];
  if (found !== undefined) return found;
  throw new ApiStatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${Object.keys(patchTypes).join(', ')}`,
  );
}

/** `?timeout=10s`: how long the client lets the server try. */
export const invalidTimeout = (value: string): ApiStatusError =>
  badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(value)}`);
