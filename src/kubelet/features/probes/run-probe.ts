import { Buffer } from 'node:buffer';
import { errorKind, errorMessage, isKind, KubeletError, unreachable } from '../../../base/errors.ts';
import type { Container } from '../../../api/core/container.ts';
import type { HTTPGetAction, Probe } from '../../../api/core/probe.ts';
import { formatDurationMs } from '../../../api/duration.ts';
import { ExpandedSize, expandVariables } from '../../../api/expand-variables.ts';
import { httpActionRequest, resolvePort } from '../../model/http-action.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { HttpProbeAnswer, HttpProbeRequest, NetDial } from '../../ports/net-dial.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';

/** The size limit of an exec probe's output (upstream: probe/exec). */
const OUTPUT_LIMIT_BYTES = 10 * 1024;
/** The number of attempts of a probe that could not be run (upstream: prober/prober.go). */
const TRIES = 3;

/**
 * The outcome of one probe. `warning`: the probe passes, and the warning is reported. `timeout`: a failure, unless the
 * agent was late. `error`: the probe could not be run or completed, and says nothing about the container; `state` is
 * upstream's name for the outcome. `gone`: an error that need not be reported.
 */
export type ProbeOutcome =
  | { kind: 'success' | 'warning' | 'failure' | 'timeout'; output: string }
  | { kind: 'error'; state: 'unknown' | 'failure'; output: string }
  | { kind: 'gone' };

export interface ProbeTarget {
  readonly id: ContainerId;
  readonly container: Container;
  /** The address of the pod's ports: the pod's own, or the node's for a pod on the host's network. */
  readonly podIp: string;
}

export interface ProbeTools {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly dial: Pick<NetDial, 'httpProbe' | 'tcpProbe' | 'grpcProbe'>;
}

/** Probes once. A probe that could not be run is attempted three times in total. Never rejects. */
export async function runProbe(
  tools: ProbeTools,
  probe: Probe,
  target: ProbeTarget,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<ProbeOutcome> {
  let outcome: ProbeOutcome = { kind: 'gone' };
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      outcome = await probeOnce(tools, probe, target, limits);
    } catch (error) {
      outcome = limits.signal.aborted ? { kind: 'gone' } : outcomeOfError(error);
    }
    if (outcome.kind !== 'error') return outcome;
  }
  return outcome;
}

function outcomeOfError(error: unknown): ProbeOutcome {
  const output = errorMessage(error);
  const kind = errorKind(error);
  switch (kind) {
    case 'Timeout':
      return { kind: 'timeout', output };
    case 'Aborted':
      return { kind: 'gone' };
    case 'Unavailable':
    case 'Unimplemented':
      return { kind: 'failure', output };
    case 'NotFound':
    case 'AlreadyExists':
    case 'Conflict':
    case 'Invalid':
    case 'Internal':
      return { kind: 'error', state: 'unknown', output };
    default:
      return unreachable(kind);
  }
}

function probeOnce(
  tools: ProbeTools,
  probe: Probe,
  target: ProbeTarget,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<ProbeOutcome> {
  if (probe.exec !== undefined) return execProbe(tools.runtime, probe.exec.command ?? [], target, limits);
  if (probe.httpGet !== undefined) return httpProbe(tools.dial, probe.httpGet, target, limits);
  if (probe.tcpSocket !== undefined) return tcpProbe(tools.dial, probe.tcpSocket, target, limits);
  if (probe.grpc !== undefined) return grpcProbe(tools.dial, probe.grpc, target, limits);
  throw new KubeletError('Internal', `missing probe handler for ${target.container.name}`);
}

/** Returns the host of a probe. A socket would connect an empty host to this machine. */
function hostOf(given: string | undefined, target: ProbeTarget): string {
  const host = given === undefined || given === '' ? target.podIp : given;
  if (host === '') throw new KubeletError('Internal', 'the pod has no address');
  return host;
}

type Limits = { timeoutMs: number; signal: AbortSignal };

async function execProbe(
  runtime: ProbeTools['runtime'],
  given: readonly string[],
  target: ProbeTarget,
  { timeoutMs, signal }: Limits,
): Promise<ProbeOutcome> {
  const command = expandStatic(given, target.container);
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync(target.id, command, timeoutMs, { signal });
    const output = Buffer.concat([stdout, stderr]).subarray(0, OUTPUT_LIMIT_BYTES).toString('utf8');
    return { kind: exitCode === 0 ? 'success' : 'failure', output };
  } catch (error) {
    switch (errorKind(error)) {
      case 'Timeout':
        return {
          kind: 'timeout',
          output: `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${formatDurationMs(timeoutMs)}`,
        };
      case 'NotFound':
        // The container was removed meanwhile. Its exit is reported elsewhere.
        return { kind: 'gone' };
      case 'Aborted':
        return { kind: 'gone' };
      default:
        // The runtime failed, and not the command.
        return { kind: 'error', state: 'unknown', output: errorMessage(error) };
    }
  }
}

/**
 * The requests by action, each with the address for which it was built. A request is the same each time, so it is built
 * once.
 */
const requests = new WeakMap<HTTPGetAction, { podIp: string; timeoutMs: number; request: HttpProbeRequest }>();

function requestOf(action: HTTPGetAction, target: ProbeTarget, timeoutMs: number): HttpProbeRequest {
  const known = requests.get(action);
  if (known !== undefined && known.podIp === target.podIp && known.timeoutMs === timeoutMs) return known.request;
  const request = {
    ...httpActionRequest(action, target.container, { podIp: hostOf(action.host, target), purpose: 'probe' }),
    timeoutMs,
  };
  requests.set(action, { podIp: target.podIp, timeoutMs, request });
  return request;
}

async function httpProbe(
  dial: ProbeTools['dial'],
  action: HTTPGetAction,
  target: ProbeTarget,
  { timeoutMs, signal }: Limits,
): Promise<ProbeOutcome> {
  const request = requestOf(action, target, timeoutMs);
  let answer: HttpProbeAnswer;
  try {
    answer = await dial.httpProbe(request, signal);
  } catch (error) {
    // An answer in plain HTTP although TLS was requested is the container's fault, so it is a failure and not an error.
    if (isKind(error, 'Invalid')) return { kind: 'failure', output: errorMessage(error) };
    throw error;
  }
  if (answer.kind === 'redirect')
    return { kind: 'warning', output: `Probe terminated redirects, Response body: ${answer.body}` };
  const { status, body, broken } = answer;
  // Upstream discards such an incomplete response, whatever its status.
  if (broken !== undefined) return { kind: 'error', state: 'failure', output: broken };
  if (status >= 300 && status < 400)
    return { kind: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  if (status >= 200 && status < 300) return { kind: 'success', output: body };
  return { kind: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

async function tcpProbe(
  dial: ProbeTools['dial'],
  action: NonNullable<Probe['tcpSocket']>,
  target: ProbeTarget,
  { timeoutMs, signal }: Limits,
): Promise<ProbeOutcome> {
  await dial.tcpProbe(hostOf(action.host, target), resolvePort(action.port, target.container), timeoutMs, signal);
  return { kind: 'success', output: '' };
}

async function grpcProbe(
  dial: ProbeTools['dial'],
  action: NonNullable<Probe['grpc']>,
  target: ProbeTarget,
  { timeoutMs, signal }: Limits,
): Promise<ProbeOutcome> {
  const status = await dial.grpcProbe(hostOf(undefined, target), action.port, action.service ?? '', timeoutMs, signal);
  return status === 'SERVING'
    ? { kind: 'success', output: 'service healthy' }
    : { kind: 'failure', output: `service unhealthy (responded with "${status}")` };
}

/**
 * Expands `$(NAME)` with the literal values in the pod only, because probes have no other environment (upstream:
 * ExpandContainerCommandOnlyStatic).
 */
function expandStatic(command: readonly string[], container: Pick<Container, 'env'>): string[] {
  const values = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? '']));
  const size = new ExpandedSize();
  return command.map((word) => expandVariables(word, (name) => values.get(name), size));
}
