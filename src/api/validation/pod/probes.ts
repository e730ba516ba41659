import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  Probe,
  SleepAction,
  TCPSocketAction,
} from '../../core/probe.ts';
import { SignalSchema } from '../../core/probe.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkHeaderName, checkPortName, checkPortNumber } from '../names.ts';

interface Handler {
  readonly exec?: ExecAction;
  readonly httpGet?: HTTPGetAction;
  readonly tcpSocket?: TCPSocketAction;
  readonly grpc?: GRPCAction;
  readonly sleep?: SleepAction;
}
export interface HandlerContext {
  readonly graceSeconds: number | undefined;
  /** `spec.os.name`, which a stop signal needs. */
  readonly os: string | undefined;
}
export type ProbeKind = 'liveness' | 'readiness' | 'startup';

const handlerKinds = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

export function validateProbe(errors: FieldErrors, path: string, probe: Probe | undefined, kind: ProbeKind): void {
  if (probe === undefined) return;
  validateHandler(errors, path, probe, undefined);
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const)
    errors.nonNegative(`${path}.${field}`, probe[field]);
  const grace = probe.terminationGracePeriodSeconds;
  const graceField = `${path}.terminationGracePeriodSeconds`;
  if (grace !== undefined && grace <= 0) errors.invalid(graceField, grace, 'must be greater than 0');
  if (kind === 'readiness') {
    if (grace !== undefined) errors.invalid(graceField, grace, 'must not be set for readinessProbes');
  } else if (probe.successThreshold !== 1)
    errors.invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
}

export function validateLifecycle(
  errors: FieldErrors,
  path: string,
  lifecycle: Lifecycle | undefined,
  context: HandlerContext,
): void {
  if (lifecycle === undefined) return;
  if (lifecycle.postStart !== undefined)
    validateHandler(errors, `${path}.postStart`, lifecycle.postStart, context.graceSeconds);
  if (lifecycle.preStop !== undefined)
    validateHandler(errors, `${path}.preStop`, lifecycle.preStop, context.graceSeconds);
  if (lifecycle.stopSignal === undefined) return;
  const field = `${path}.stopSignal`;
  if (context.os === undefined) errors.forbidden(field, 'may not be set for containers with empty `spec.os.name`');
  else if (context.os === 'windows') errors.oneOf(field, lifecycle.stopSignal, ['SIGKILL', 'SIGTERM']);
  else if (context.os === 'linux') errors.oneOf(field, lifecycle.stopSignal, [...SignalSchema.values].sort());
}

function validateHandler(errors: FieldErrors, path: string, handler: Handler, graceSeconds: number | undefined): void {
  const present = handlerKinds.filter((kind) => handler[kind] !== undefined);
  const [chosen, ...others] = present;
  if (chosen === undefined) return errors.required(path, 'must specify a handler type');
  const at = `${path}.${chosen}`;
  if (chosen === 'exec' && (handler.exec?.command ?? []).length === 0) errors.required(`${at}.command`);
  if (chosen === 'httpGet' && handler.httpGet !== undefined) validateHttpGet(errors, at, handler.httpGet);
  if (chosen === 'tcpSocket' && handler.tcpSocket !== undefined)
    validatePort(errors, `${at}.port`, handler.tcpSocket.port);
  if (chosen === 'grpc' && handler.grpc !== undefined) validatePort(errors, `${at}.port`, handler.grpc.port);
  if (chosen === 'sleep' && handler.sleep !== undefined && graceSeconds !== undefined) {
    const { seconds } = handler.sleep;
    if (seconds < 0 || seconds > graceSeconds)
      errors.invalid(at, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`);
  }
  for (const other of others) errors.forbidden(`${path}.${other}`, 'may not specify more than 1 handler type');
}

function validateHttpGet(errors: FieldErrors, path: string, action: HTTPGetAction): void {
  if (!action.path) errors.required(`${path}.path`);
  validatePort(errors, `${path}.port`, action.port);
  errors.oneOf(`${path}.scheme`, action.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const header of action.httpHeaders ?? [])
    errors.invalidEach(`${path}.httpHeaders`, header.name, checkHeaderName(header.name));
}

function validatePort(errors: FieldErrors, field: string, port: number | string): void {
  errors.invalidEach(field, port, typeof port === 'number' ? checkPortNumber(port) : checkPortName(port));
}
