import { KubeletError } from '../../../base/errors.ts';

/** The requested part of a container's log (upstream: PodLogOptions). */
export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Selects lines of the last seconds. */
  sinceSeconds?: number;
  /** Selects lines from this wall-clock time on, in milliseconds. */
  sinceTimeMs?: number;
  tailLines?: number;
  limitBytes?: number;
  /** Selects the output of one stream; undefined means both. */
  stream?: 'stdout' | 'stderr';
}

/**
 * The result of a check. A query that cannot be parsed has another status than one with values that are not allowed
 * (upstream: 400 and 422).
 */
export type CheckedLogQuery =
  | { readonly outcome: 'query'; readonly query: LogQuery }
  | { readonly outcome: 'unreadable' | 'invalid'; readonly problem: string };

/**
 * Checks a query. The problem names the parameter, its value and the accepted values. `splitStreams` is the feature
 * gate PodLogsQuerySplitStreams.
 */
export function checkLogQuery(params: URLSearchParams, splitStreams = false): CheckedLogQuery {
  try {
    const query = readLogQuery(withoutTail(params));
    const problem = problemOf(query, params, splitStreams);
    return problem === undefined ? { outcome: 'query', query } : problem;
  } catch (error) {
    return { outcome: 'unreadable', problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Parses a query. Throws `Invalid` with the problem. */
export function parseLogQuery(params: URLSearchParams): LogQuery {
  const checked = checkLogQuery(params);
  if (checked.outcome === 'query') return checked.query;
  throw new KubeletError('Invalid', checked.problem);
}

/** Converts the name that `tailLines` had before v1. `all` meant no limit. */
function withoutTail(params: URLSearchParams): URLSearchParams {
  const tail = params.get('tail') ?? '';
  if (tail === '') return params;
  const copy = new URLSearchParams(params);
  if (tail === 'all') copy.delete('tailLines');
  else copy.set('tailLines', tail);
  return copy;
}

function readLogQuery(params: URLSearchParams): LogQuery {
  const query: LogQuery = {
    follow: flag(params, 'follow'),
    previous: flag(params, 'previous'),
    timestamps: flag(params, 'timestamps'),
  };
  const sinceSeconds = whole(params, 'sinceSeconds');
  const tailLines = whole(params, 'tailLines');
  const limitBytes = whole(params, 'limitBytes');
  const sinceTime = params.get('sinceTime') ?? '';
  const stream = params.get('stream');
  if (sinceSeconds !== undefined) query.sinceSeconds = sinceSeconds;
  if (tailLines !== undefined) query.tailLines = tailLines;
  if (limitBytes !== undefined) query.limitBytes = limitBytes;
  if (stream === 'Stdout') query.stream = 'stdout';
  if (stream === 'Stderr') query.stream = 'stderr';
  if (sinceTime !== '') {
    const atMs = Date.parse(sinceTime);
    if (Number.isNaN(atMs))
      throw new KubeletError(
        'Invalid',
        `sinceTime: "${sinceTime}" is not an RFC 3339 time such as 2026-01-31T15:04:05Z`,
      );
    query.sinceTimeMs = atMs;
  }
  return query;
}

/** Returns the problem of a query (upstream: validation.ValidatePodLogOptions). */
function problemOf(query: LogQuery, params: URLSearchParams, splitStreams: boolean): CheckedLogQuery | undefined {
  const stream = params.get('stream') ?? '';
  const least = (
    [
      ['tailLines', query.tailLines, 0],
      ['limitBytes', query.limitBytes, 1],
      ['sinceSeconds', query.sinceSeconds, 1],
    ] as const
  ).find(([, value, limit]) => value !== undefined && value < limit);
  if (least !== undefined)
    return { outcome: 'invalid', problem: `${least[0]}: "${least[1]}" is not a whole number of at least ${least[2]}` };
  if (query.sinceSeconds !== undefined && query.sinceTimeMs !== undefined)
    return { outcome: 'invalid', problem: 'at most one of sinceTime or sinceSeconds may be specified' };
  if (!['', 'All', 'Stdout', 'Stderr'].includes(stream))
    return { outcome: 'invalid', problem: `stream: ${JSON.stringify(stream)} is not one of All, Stdout, Stderr` };
  if (query.stream !== undefined && query.tailLines !== undefined)
    return { outcome: 'invalid', problem: 'tailLines and a specific stream are mutually exclusive for now' };
  if (query.stream !== undefined && !splitStreams)
    return {
      outcome: 'unreadable',
      problem: `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
    };
  return undefined;
}

function flag(params: URLSearchParams, name: string): boolean {
  const value = params.get(name);
  if (value === null || ['false', 'False', 'FALSE', 'f', 'F', '0'].includes(value)) return false;
  if (['', 'true', 'True', 'TRUE', 't', 'T', '1'].includes(value)) return true;
  throw new KubeletError('Invalid', `${name}: "${value}" is neither true nor false`);
}

function whole(params: URLSearchParams, name: string): number | undefined {
  const value = params.get(name) ?? '';
  if (value === '') return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new KubeletError('Invalid', `${name}: "${value}" is not a whole number`);
  return number;
}
