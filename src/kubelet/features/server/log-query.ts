import { KubeletError } from '../../../base/errors.ts';

/** What part of a container's log is wanted (upstream: PodLogOptions). */
export interface LogQuery {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  /** Only lines of the last so many seconds. */
  sinceSeconds?: number;
  /** Only lines from this wall time on, milliseconds. */
  sinceTimeMs?: number;
  tailLines?: number;
  limitBytes?: number;
}

/** Reads the query of a log request; throws `Invalid` naming the parameter, what it got and what it takes. */
export function parseLogQuery(params: URLSearchParams): LogQuery {
  const query: LogQuery = { follow: flag(params, 'follow'), previous: flag(params, 'previous'), timestamps: flag(params, 'timestamps') };
  const sinceSeconds = count(params, 'sinceSeconds', 1);
  const tailLines = count(params, 'tailLines', 0);
  const limitBytes = count(params, 'limitBytes', 1);
  const sinceTime = params.get('sinceTime');
  if (sinceSeconds !== undefined && sinceTime !== null) throw new KubeletError('Invalid', 'at most one of sinceTime or sinceSeconds may be specified');
  if (sinceSeconds !== undefined) query.sinceSeconds = sinceSeconds;
  if (tailLines !== undefined) query.tailLines = tailLines;
  if (limitBytes !== undefined) query.limitBytes = limitBytes;
  if (sinceTime !== null) {
    const atMs = Date.parse(sinceTime);
    if (Number.isNaN(atMs)) throw new KubeletError('Invalid', `sinceTime: "${sinceTime}" is no RFC 3339 time such as 2026-01-31T15:04:05Z`);
    query.sinceTimeMs = atMs;
  }
  return query;
}

function flag(params: URLSearchParams, name: string): boolean {
  const value = params.get(name);
  if (value === null || ['false', 'False', 'FALSE', 'f', 'F', '0'].includes(value)) return false;
  if (['', 'true', 'True', 'TRUE', 't', 'T', '1'].includes(value)) return true;
  throw new KubeletError('Invalid', `${name}: "${value}" is neither true nor false`);
}

function count(params: URLSearchParams, name: string, least: number): number | undefined {
  const value = params.get(name);
  if (value === null || value === '') return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < least) throw new KubeletError('Invalid', `${name}: "${value}" is no whole number of at least ${least}`);
  return number;
}
