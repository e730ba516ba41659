import { exactMatch, fieldEquals, parseFieldSelector } from '../../../api/selectors.ts';
import type { ListOptions, WatchOptions } from '../../../api/client/api-client.ts';
import { badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { RequestInfo } from '../path/request-info.ts';
import { booleanOf, integerOf } from './query-values.ts';

const kind = { group: 'meta.k8s.io', kind: 'ListOptions' };

/** The options of a list or deletecollection, validated as in upstream (ValidateListOptions). */
export function parseListOptions(query: URLSearchParams, info: RequestInfo): ListOptions {
  const common = readCommon(query, info);
  const limit = integerOf(query, 'limit');
  integerOf(query, 'timeoutSeconds');
  const errors = new FieldErrors();
  const match = query.get('resourceVersionMatch') ?? '';
  if (match !== '') {
    if (common.resourceVersion === undefined)
      errors.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (common.continue !== undefined)
      errors.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']);
    if (match === 'Exact' && common.resourceVersion === '0')
      errors.forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (booleanOf(query, 'sendInitialEvents') !== undefined)
    errors.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  refuse(errors);
  return {
    ...common,
    ...(limit !== undefined && limit > 0 && { limit }),
    ...((match === 'Exact' || match === 'NotOlderThan') && { resourceVersionMatch: match }),
  };
}

export interface ParsedWatch {
  readonly options: WatchOptions;
  /** Absent: a random time, at least the server's minimum. */
  readonly timeoutSeconds: number | undefined;
}

/** The options of a watch. Without a version, or from version 0, a watch begins with all existing objects. */
export function parseWatchOptions(query: URLSearchParams, info: RequestInfo): ParsedWatch {
  const common = readCommon(query, info);
  integerOf(query, 'limit');
  const timeoutSeconds = integerOf(query, 'timeoutSeconds');
  const match = query.get('resourceVersionMatch') ?? '';
  const asked = booleanOf(query, 'sendInitialEvents');
  const errors = new FieldErrors();
  if (asked !== undefined && match !== 'NotOlderThan')
    errors.forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (match !== '') {
    if (asked === undefined)
      errors.forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    if (match !== 'NotOlderThan') errors.notSupported('resourceVersionMatch', match, ['NotOlderThan']);
    if (common.continue !== undefined)
      errors.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
  }
  refuse(errors);
  const legacy = asked === undefined && (common.resourceVersion === undefined || common.resourceVersion === '0');
  const { labelSelector, fieldSelector, resourceVersion, includeUninitialized } = common;
  const allowBookmarks = booleanOf(query, 'allowWatchBookmarks') ?? false;
  const options: WatchOptions = {
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(includeUninitialized !== undefined && { includeUninitialized }),
    allowBookmarks,
    ...((legacy || asked !== undefined) && { sendInitialEvents: legacy || asked === true }),
  };
  return { options, timeoutSeconds: timeoutSeconds === undefined || timeoutSeconds <= 0 ? undefined : timeoutSeconds };
}

interface CommonOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly includeUninitialized?: boolean;
}

function readCommon(query: URLSearchParams, info: RequestInfo): CommonOptions {
  const labelSelector = given(query, 'labelSelector');
  const fieldSelector = withName(given(query, 'fieldSelector'), info);
  const resourceVersion = given(query, 'resourceVersion');
  const next = given(query, 'continue');
  return {
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(next !== undefined && { continue: next }),
    ...(booleanOf(query, 'includeUninitialized') === true && { includeUninitialized: true }),
  };
}

/** A watch of one object by its path is a watch with a selector by its name. */
function withName(fieldSelector: string | undefined, { name, parts }: RequestInfo): string | undefined {
  if (name === '' || parts[1] !== name) return fieldSelector;
  if (fieldSelector === undefined) return fieldEquals('metadata.name', name);
  const parsed = parseFieldSelector(fieldSelector);
  if (typeof parsed === 'string') throw badRequest(parsed);
  if (exactMatch(parsed, 'metadata.name') !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return fieldSelector;
}

function given(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name);
  return value === null || value === '' ? undefined : value;
}

function refuse(errors: FieldErrors): void {
  if (errors.list.length > 0) throw invalid(kind, '', errors.list);
}
