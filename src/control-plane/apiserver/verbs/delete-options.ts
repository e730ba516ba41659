import { isRecord } from '../../../base/json-record.ts';
import { badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import { checkDryRun } from './write-options.ts';
import { booleanOf, integerOf } from './query-values.ts';

/** Parses meta/v1 DeleteOptions for the registry. */
export interface ParsedDeleteOptions {
  readonly kind: 'DeleteOptions';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly dryRun?: readonly string[];
}

const header = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' } as const;

/** With a body, the query is ignored. */
export function parseDeleteOptions(query: URLSearchParams, body: unknown): ParsedDeleteOptions {
  const options = body === undefined ? fromQuery(query) : fromBody(body);
  const errors = new FieldErrors();
  const { propagationPolicy, orphanDependents, dryRun = [] } = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    errors.invalid(
      'propagationPolicy',
      propagationPolicy,
      'orphanDependents and deletionPropagation cannot be both set',
    );
  if (propagationPolicy !== undefined && !policies.has(propagationPolicy))
    errors.notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']);
  checkDryRun(dryRun, errors);
  if (errors.list.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors.list);
  return options;
}

const policies = new Set(['Foreground', 'Background', 'Orphan']);

function fromQuery(query: URLSearchParams): ParsedDeleteOptions {
  if (query.size === 0) return header;
  const gracePeriodSeconds = integerOf(query, 'gracePeriodSeconds');
  const propagationPolicy = query.get('propagationPolicy');
  const orphanDependents = booleanOf(query, 'orphanDependents');
  const dryRun = query.getAll('dryRun');
  return {
    ...header,
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== null && { propagationPolicy }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(dryRun.length > 0 && { dryRun }),
  };
}

function fromBody(body: unknown): ParsedDeleteOptions {
  if (!isRecord(body)) throw badRequest('json: cannot unmarshal body into Go value of type v1.DeleteOptions');
  const { kind, gracePeriodSeconds, preconditions, propagationPolicy, orphanDependents, dryRun } = body;
  if (kind !== undefined && kind !== '' && kind !== 'DeleteOptions')
    throw badRequest('decoded object cannot be converted to DeleteOptions');
  const checked = read(preconditions, 'preconditions', 'object', isRecord);
  const uid = read(checked?.uid, 'preconditions.uid', 'string', isString);
  const resourceVersion = read(checked?.resourceVersion, 'preconditions.resourceVersion', 'string', isString);
  const seconds = read(gracePeriodSeconds, 'gracePeriodSeconds', 'int64', isWhole);
  const policy = read(propagationPolicy, 'propagationPolicy', 'string', isString);
  const orphan = read(orphanDependents, 'orphanDependents', 'bool', isBoolean);
  const dry = read(dryRun, 'dryRun', '[]string', isStrings);
  return {
    ...header,
    ...(seconds !== undefined && { gracePeriodSeconds: seconds }),
    ...(policy !== undefined && { propagationPolicy: policy }),
    ...(orphan !== undefined && { orphanDependents: orphan }),
    ...(dry !== undefined && dry.length > 0 && { dryRun: dry }),
    ...((uid !== undefined || resourceVersion !== undefined) && {
      preconditions: { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
    }),
  };
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isWhole = (value: unknown): value is number => Number.isInteger(value);
const isStrings = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isString);

function read<T>(value: unknown, field: string, type: string, is: (value: unknown) => value is T): T | undefined {
  if (value === undefined || value === null) return undefined;
  if (is(value)) return value;
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  throw badRequest(`json: cannot unmarshal ${found} into Go struct field DeleteOptions.${field} of type ${type}`);
}
