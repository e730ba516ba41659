import type { Pod } from '../../../api/core/pod.ts';
import { badRequest, invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { CommandStreams } from '../../../streaming/protocols.ts';
import { booleanOf, integerOf } from '../verbs/query-values.ts';

/** The path and query of a request to the kubelet. */
export interface KubeletRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

const streams = ['All', 'Stdout', 'Stderr'];

/** Validates PodLogOptions from a query, and builds the request to the kubelet. */
export function logRequest(pod: Pod, query: URLSearchParams): KubeletRequest {
  const options = readLogOptions(query, pod.metadata.name);
  const container = chooseContainer(pod, query.get('container') ?? '');
  return { path: `/containerLogs/${pod.metadata.namespace}/${pod.metadata.name}/${container}`, query: options };
}

function readLogOptions(query: URLSearchParams, name: string): URLSearchParams {
  const errors = new FieldErrors();
  const tailLines = integerOf(query, 'tailLines');
  const limitBytes = integerOf(query, 'limitBytes');
  const sinceSeconds = integerOf(query, 'sinceSeconds');
  const sinceTime = query.get('sinceTime') ?? '';
  const stream = query.get('stream') ?? '';
  if (sinceTime !== '' && Number.isNaN(Date.parse(sinceTime)))
    throw badRequest(
      `parsing time ${JSON.stringify(sinceTime)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(sinceTime)} as "2006"`,
    );
  if (tailLines !== undefined && tailLines < 0)
    errors.invalid('tailLines', tailLines, 'must be greater than or equal to 0');
  if (limitBytes !== undefined && limitBytes < 1) errors.invalid('limitBytes', limitBytes, 'must be greater than 0');
  if (sinceSeconds !== undefined && sinceTime !== '')
    errors.forbidden('', 'at most one of `sinceTime` or `sinceSeconds` may be specified');
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    errors.invalid('sinceSeconds', sinceSeconds, 'must be greater than 0');
  if (stream !== '' && !streams.includes(stream)) errors.notSupported('stream', stream, streams);
  if (stream !== '' && stream !== 'All' && tailLines !== undefined)
    errors.forbidden('', '`tailLines` and specific `stream` are mutually exclusive for now');
  if (errors.list.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, name, errors.list);
  const options = new URLSearchParams();
  for (const flag of ['follow', 'previous', 'timestamps'] as const)
    if (booleanOf(query, flag) === true) options.set(flag, 'true');
  for (const [key, value] of [
    ['sinceSeconds', sinceSeconds],
    ['sinceTime', sinceTime],
    ['tailLines', tailLines],
    ['limitBytes', limitBytes],
    ['stream', stream],
  ] as const) {
    if (value !== undefined && value !== '') options.set(key, String(value));
  }
  return options;
}

/** Converts PodExecOptions and PodAttachOptions to the kubelet's parameter names. */
export function streamRequest(kind: 'exec' | 'attach', pod: Pod, query: URLSearchParams): KubeletRequest {
  const container = chooseContainer(pod, query.get('container') ?? '');
  requireNode(pod);
  const options = new URLSearchParams();
  for (const [asked, sent] of [
    ['stdin', 'input'],
    ['stdout', 'output'],
    ['stderr', 'error'],
    ['tty', 'tty'],
  ] as const)
    if (booleanOf(query, asked) === true) options.set(sent, '1');
  if (kind === 'exec') for (const word of query.getAll('command')) options.append('command', word);
  return { path: `/${kind}/${pod.metadata.namespace}/${pod.metadata.name}/${container}`, query: options };
}

/** Returns the streams that such a query requests. */
export function commandStreams(query: URLSearchParams): CommandStreams {
  const isAsked = (name: string): boolean => booleanOf(query, name) === true;
  const tty = isAsked('tty');
  return { stdin: isAsked('stdin'), stdout: isAsked('stdout'), stderr: isAsked('stderr') && !tty, tty };
}

export function portForwardRequest(pod: Pod, query: URLSearchParams): KubeletRequest {
  requireNode(pod);
  const ports = query
    .getAll('ports')
    .flatMap((each) => each.split(','))
    .filter((each) => each !== '');
  for (const port of ports)
    if (!/^\d{1,5}$/.test(port)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(port)}: invalid syntax`);
  const options = new URLSearchParams();
  if (ports.length > 0) options.set('port', ports.join(','));
  return { path: `/portForward/${pod.metadata.namespace}/${pod.metadata.name}`, query: options };
}

function requireNode(pod: Pod): void {
  if ((pod.spec.nodeName ?? '') === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
}

function chooseContainer(pod: Pod, asked: string): string {
  const { name } = pod.metadata;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers].map((each) => each.name);
  if (asked !== '') {
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
    return asked;
  }
  const [only] = containers;
  if (containers.length === 1 && only !== undefined) return only.name;
  throw badRequest(
    containers.length === 0
      ? `a container name must be specified for pod ${name}`
      : `a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`,
  );
}
