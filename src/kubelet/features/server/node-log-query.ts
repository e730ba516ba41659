import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';

/** A query for logs of the node (upstream: kubelet_server_journal.go; KEP-2258). */
export interface NodeLogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly tailLines?: number;
  readonly boot?: number;
  readonly pattern: string;
}

/** The answer. As in upstream, it is 400 for a query that cannot be parsed, and 406 for one that is not allowed. */
export type NodeLogAnswer =
  | { readonly outcome: 'none' }
  | { readonly outcome: 'query'; readonly query: NodeLogQuery }
  | { readonly outcome: 'refused'; readonly status: 400 | 406; readonly problem: string };

const MOST_TAIL_LINES = 100_000;
const MOST_SERVICES = 4;
const LONGEST_SERVICE = 256;
const LONGEST_PATTERN = 1024;

const aggregate = (errors: FieldErrors): string => {
  const texts = [...new Set(errors.list.map(formatFieldError))];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
};

export function readNodeLogQuery(params: URLSearchParams): NodeLogAnswer {
  const known = ['query', 'sinceTime', 'untilTime', 'boot', 'tailLines', 'pattern'].some((name) => params.has(name));
  if (!known) return { outcome: 'none' };
  const errors = new FieldErrors();
  const queries = params.getAll('query');
  // A slash distinguishes a file from a service.
  const files = queries.filter((each) => /[/\\]/.test(each)).map((each) => each.replaceAll('\\', '/'));
  const services = queries.filter((each) => !/[/\\]/.test(each) && each.trim() !== '');
  if (queries.length > 0 && files.length + services.length === 0)
    errors.invalid('query', queries, 'query cannot be empty');
  const query: NodeLogQuery = {
    services,
    files,
    pattern: params.get('pattern') ?? '',
    ...optional('sinceMs', timeOf(params, 'sinceTime', errors)),
    ...optional('untilMs', timeOf(params, 'untilTime', errors)),
    ...optional('boot', wholeOf(params, 'boot', errors)),
    ...optional('tailLines', wholeOf(params, 'tailLines', errors)),
  };
  if (errors.list.length > 0) return { outcome: 'refused', status: 400, problem: aggregate(errors) };
  validate(query, params, errors);
  return errors.list.length > 0
    ? { outcome: 'refused', status: 406, problem: aggregate(errors) }
    : { outcome: 'query', query };
}

const optional = <K extends string>(name: K, value: number | undefined): Partial<Record<K, number>> =>
  value === undefined ? {} : ({ [name]: value } as Record<K, number>);

function timeOf(params: URLSearchParams, name: string, errors: FieldErrors): number | undefined {
  const text = params.get(name) ?? '';
  if (text === '') return undefined;
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) errors.invalid(name, text, 'invalid time format');
  return ms;
}

function wholeOf(params: URLSearchParams, name: string, errors: FieldErrors): number | undefined {
  const text = params.get(name) ?? '';
  if (text === '') return undefined;
  if (!/^[+-]?\d{1,15}$/.test(text))
    errors.invalid(name, text, `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

export const hasOptions = ({ sinceMs, untilMs, tailLines, boot, pattern }: NodeLogQuery): boolean =>
  [sinceMs, untilMs, tailLines, boot].some((each) => each !== undefined) || pattern !== '';

function validate(query: NodeLogQuery, params: URLSearchParams, errors: FieldErrors): void {
  const { services, files, sinceMs, untilMs, tailLines, boot, pattern } = query;
  for (const service of services) {
    if (service.length > LONGEST_SERVICE)
      errors.invalid('query', service, `length must be less than ${LONGEST_SERVICE}`);
    else if (!/^[a-zA-Z\-_.:0-9@]+$/.test(service))
      errors.invalid('query', service, 'input contains unsupported characters');
  }
  if (services.length > MOST_SERVICES) errors.tooMany('query', services.length, MOST_SERVICES);
  if (files.length + services.length === 0) errors.required('query', 'cannot be empty with options');
  else if (files.length > 0 && services.length > 0)
    errors.invalid('query', `[${files.join(' ')}], [${services.join(' ')}]`, 'cannot specify a file and service');
  else if (files.length > 1) errors.invalid('query', files, 'cannot specify more than one file');
  else if (files.length === 1 && hasOptions(query)) errors.invalid('query', files, 'cannot specify file with options');
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    errors.invalid('untilTime', params.get('untilTime'), 'must be after `sinceTime`');
  if (boot !== undefined && boot > 0) errors.invalid('boot', boot, 'must be less than 1');
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MOST_TAIL_LINES))
    errors.invalid('tailLines', tailLines, `must be between 0 and ${MOST_TAIL_LINES}, inclusive`);
  if (pattern.length > LONGEST_PATTERN)
    errors.invalid('pattern', pattern.slice(0, 64), `may not be longer than ${LONGEST_PATTERN} characters`);
  // A program argument cannot contain NUL.
  else if (pattern.includes('\0') || !isPattern(pattern)) errors.invalid('pattern', pattern, 'error parsing regexp');
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern).source !== '';
  } catch {
    return false;
  }
}

/**
 * Returns the arguments of journalctl. It accepts seconds since the epoch independent of the node's time zone. Options
 * and values are one argument each, so no value can become an option.
 */
export function journalArguments(query: NodeLogQuery, services: readonly string[]): readonly string[] {
  const { sinceMs, untilMs, tailLines, boot, pattern } = query;
  return [
    '--utc',
    '--no-pager',
    ...(sinceMs === undefined ? [] : [`--since=@${Math.floor(sinceMs / 1000)}`]),
    ...(untilMs === undefined ? [] : [`--until=@${Math.ceil(untilMs / 1000)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === '' ? [] : [`--grep=${pattern}`, '--case-sensitive=false']),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
    '--output=short-precise',
  ];
}
