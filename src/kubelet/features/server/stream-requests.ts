import type { Pod } from '../../../api/core/pod.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { AttachPlan } from './decide-attach.ts';

/** The requested streams of a command. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * The two sides of an attachment. They differ if a client without a terminal attaches to a container with one, or the
 * reverse.
 */
export interface AttachedStreams {
  /** The streams that the client opens, from its query. */
  readonly client: CommandStreams;
  readonly runtime: CommandStreams;
}

export type StreamKind = 'exec' | 'attach' | 'portForward';

/** The target of a streaming path. */
export interface StreamTarget {
  readonly kind: StreamKind;
  readonly namespace: string;
  readonly pod: string;
  /** The UID; empty for the pod that has the name now. */
  readonly uid: string;
  /** The container; empty for `portForward`. */
  readonly container: string;
}

/** The lookups for streams, which the compose files pass in. All except `pod` reject with KubeletError. */
export interface StreamSources {
  pod(namespace: string, name: string): Pod | undefined;
  /** Whether this is the pod's own UID, or that of its mirror pod in the API. */
  isUidOf(pod: Pod, uid: string): boolean;
  /** This and the next two return the runtime's URLs. */
  execUrl(
    pod: Pod,
    container: string,
    request: CommandStreams & { readonly command: readonly string[] },
  ): Promise<string>;
  attachUrl(pod: Pod, container: string, streams: CommandStreams): Promise<string>;
  /** Decides which earlier output of a container a client gets. */
  planAttach(
    pod: Pod,
    container: string,
    client: { readonly isInteractive: boolean; readonly userAgent: string },
  ): AttachPlan;
  portForwardUrl(pod: Pod, ports: readonly number[]): Promise<string>;
}

export type StreamPlan =
  | { readonly outcome: 'stream'; readonly url: string; readonly streams: CommandStreams | undefined }
  /** The stream is served from the container's log, and from the runtime if the container still runs. */
  | {
      readonly outcome: 'attach';
      readonly pod: Pod;
      readonly plan: AttachPlan & { what: 'start' | 'log' };
      readonly streams: AttachedStreams;
    }
  | { readonly outcome: 'refused'; readonly status: number; readonly body: string };

/** The request, apart from its target. */
export interface StreamQuery {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly isWebSocket: boolean;
  /** Whether the client uses SPDY in a WebSocket, which names its ports in its streams. */
  readonly isTunnel: boolean;
  /** Whether the agent can serve a command in the client's protocol. */
  readonly isServable: boolean;
  readonly userAgent: string;
}

/** Parses a percent-decoded path; undefined if it is not a streaming path. */
export function parseStreamPath(path: string): StreamTarget | undefined {
  const [, kind, namespace = '', pod = '', ...rest] = path.split('/');
  if (namespace === '' || pod === '' || rest.includes('')) return undefined;
  const [first = '', second = ''] = rest;
  if (kind === 'portForward') return rest.length > 1 ? undefined : { kind, namespace, pod, uid: first, container: '' };
  if (kind !== 'exec' && kind !== 'attach') return undefined;
  if (rest.length === 1) return { kind, namespace, pod, uid: '', container: first };
  return rest.length === 2 ? { kind, namespace, pod, uid: first, container: second } : undefined;
}

/**
 * Returns the requested streams (upstream: cri-streaming remotecommand NewOptions). A terminal has one output, so its
 * standard error is left out. It accepts the kubelet's names for the streams, and those of the API.
 */
export function parseCommandStreams(query: URLSearchParams): CommandStreams | { readonly problem: string } {
  const isAsked = (...names: readonly string[]): boolean =>
    names.some((name) => ['1', 'true'].includes(query.get(name) ?? ''));
  const tty = isAsked('tty');
  const streams = {
    stdin: isAsked('input', 'stdin'),
    stdout: isAsked('output', 'stdout'),
    stderr: isAsked('error', 'stderr') && !tty,
    tty,
  };
  return streams.stdin || streams.stdout || streams.stderr
    ? streams
    : { problem: 'you must specify at least 1 of stdin, stdout, stderr' };
}

/** Returns the ports of a WebSocket without a tunnel, which are in the query (upstream: portforward NewV4Options). */
export function parsePorts(query: URLSearchParams): readonly number[] | { readonly problem: string } {
  const texts = query.getAll('port');
  if (texts.length === 0) return { problem: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const text of texts) {
    if (text === '') return { problem: 'query parameter "port" cannot be empty' };
    for (const each of text.split(',')) {
      const isNumber = /^\d{1,5}$/.test(each) && Number(each) <= 65_535;
      if (!isNumber)
        return {
          problem: `unable to parse ${JSON.stringify(text)} as a port: strconv.ParseUint: parsing ${JSON.stringify(each)}: ${/^\d+$/.test(each) ? 'value out of range' : 'invalid syntax'}`,
        };
      if (Number(each) < 1) return { problem: `port ${JSON.stringify(text)} must be > 0` };
      ports.push(Number(each));
    }
  }
  return ports;
}

const refused = (status: number, body: string): StreamPlan => ({ outcome: 'refused', status, body });

/**
 * Checks a stream request before the runtime is called. Messages and status codes are upstream's (server.go getExec,
 * getAttach, getPortForward). Never rejects.
 */
export async function planStream(
  target: StreamTarget,
  asked: StreamQuery,
  sources: StreamSources,
): Promise<StreamPlan> {
  if (asked.method !== 'GET' && asked.method !== 'POST') return refused(405, '405: Method Not Allowed');
  const { kind } = target;
  const wanted =
    kind === 'portForward'
      ? asked.isWebSocket && !asked.isTunnel
        ? parsePorts(asked.query)
        : []
      : parseCommandStreams(asked.query);
  if ('problem' in wanted) return refused(400, wanted.problem);
  const pod = sources.pod(target.namespace, target.pod);
  if (pod === undefined) return refused(404, 'pod does not exist');
  const isMeant = target.uid === '' || sources.isUidOf(pod, target.uid);
  if (!isMeant && kind === 'portForward') return refused(404, 'pod not found');
  if (!isMeant) return refused(500, missing(target));
  try {
    if (!('stdin' in wanted))
      return { outcome: 'stream', url: await sources.portForwardUrl(pod, wanted), streams: undefined };
    const { container } = target;
    if (kind === 'attach') return await planAttach(target, { pod, wanted, asked }, sources);
    return {
      outcome: 'stream',
      url: await sources.execUrl(pod, container, { ...wanted, command: asked.query.getAll('command') }),
      streams: wanted,
    };
  } catch (error) {
    return refused(isKind(error, 'NotFound') ? 404 : 500, errorMessage(error));
  }
}

async function planAttach(
  target: StreamTarget,
  { pod, wanted, asked }: { pod: Pod; wanted: CommandStreams; asked: StreamQuery },
  sources: StreamSources,
): Promise<StreamPlan> {
  const { container } = target;
  const spec = [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
    ...(pod.spec.ephemeralContainers ?? []),
  ].find(({ name }) => name === container);
  if (spec === undefined) return refused(500, missing(target));
  // Whether there is a terminal is fixed when the container is created, whatever the request says.
  const tty = spec.tty === true;
  const streams = { ...wanted, tty, stderr: wanted.stderr && !tty };
  const plan = sources.planAttach(pod, container, { isInteractive: spec.stdin === true, userAgent: asked.userAgent });
  const hasPast = plan.what === 'start' || plan.what === 'log';
  if (hasPast && asked.isServable && (streams.stdout || streams.stderr))
    return { outcome: 'attach', pod, plan, streams: { client: wanted, runtime: streams } };
  return { outcome: 'stream', url: await sources.attachUrl(pod, container, streams), streams };
}

const missing = ({ kind, container, pod, namespace }: StreamTarget): string =>
  kind === 'exec'
    ? `container not found (${JSON.stringify(container)})`
    : `container ${container} not found in pod ${pod}_${namespace}`;
