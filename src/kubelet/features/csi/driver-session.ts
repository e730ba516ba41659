import type { Clock } from '../../../base/clock.ts';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type {
  CsiAnswer,
  CsiExpandRequest,
  CsiFailureCode,
  CsiNode,
  CsiNodeCapability,
  CsiPublishRequest,
  CsiStageRequest,
  CsiStats,
} from '../../ports/csi-drivers.ts';

/** The time limit of all calls of one operation together (upstream: csi_plugin.go, csiTimeout). */
const OPERATION_LIMIT_MS = 2 * 60_000;

/** The error of a driver that refused a call or did not answer. The message has the format of a gRPC client. */
class CsiCallError extends KubeletError {
  readonly code: CsiFailureCode;

  constructor(op: string, code: CsiFailureCode, message: string) {
    super(kindOf(code), message, { op });
    this.code = code;
  }
}

/**
 * Codes after which the driver may still be working, or may have finished. The call must be repeated with the same
 * arguments, and nothing may be cleaned up (upstream: isFinalError).
 */
const uncertain: ReadonlySet<CsiFailureCode> = new Set([
  'Local',
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);
const infeasible: ReadonlySet<CsiFailureCode> = new Set(['InvalidArgument', 'OutOfRange', 'NotFound']);

export function isFinal(error: unknown): boolean {
  return error instanceof CsiCallError && !uncertain.has(error.code);
}

/**
 * Returns why an expansion failed. `inUse` is not retried while the volume is in use; `infeasible` is never possible.
 */
export function expansionFailure(error: unknown): 'inUse' | 'infeasible' | 'other' {
  if (!(error instanceof CsiCallError)) return 'other';
  if (error.code === 'FailedPrecondition') return 'inUse';
  return infeasible.has(error.code) ? 'infeasible' : 'other';
}

function kindOf(code: CsiFailureCode): ErrorKind {
  switch (code) {
    case 'DeadlineExceeded':
      return 'Timeout';
    case 'Unavailable':
    case 'Canceled':
      return 'Unavailable';
    case 'NotFound':
    case 'AlreadyExists':
    case 'Unimplemented':
      return code;
    case 'InvalidArgument':
    case 'OutOfRange':
      return 'Invalid';
    case 'FailedPrecondition':
    case 'Aborted':
      return 'Conflict';
    default:
      return 'Internal';
  }
}

/** The calls of one operation on one volume. They share its deadline and read the driver's capabilities once. */
export class DriverSession {
  readonly #node: CsiNode;
  readonly #clock: Clock;
  readonly #endMs: number;
  #capabilities: Promise<ReadonlySet<CsiNodeCapability>> | undefined;

  constructor(node: CsiNode, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
    this.#endMs = clock.monotonicMs() + OPERATION_LIMIT_MS;
  }

  async can(capability: CsiNodeCapability): Promise<boolean> {
    this.#capabilities ??= this.#call('NodeGetCapabilities', (limitMs) => this.#node.getCapabilities(limitMs)).then(
      (known) => new Set(known),
    );
    return (await this.#capabilities).has(capability);
  }

  stage(request: CsiStageRequest): Promise<void> {
    return this.#call('NodeStageVolume', (limitMs) => this.#node.stage(request, limitMs));
  }

  unstage(request: { volumeId: string; stagingPath: string }): Promise<void> {
    return this.#call('NodeUnstageVolume', (limitMs) => this.#node.unstage(request, limitMs));
  }

  publish(request: CsiPublishRequest): Promise<void> {
    return this.#call('NodePublishVolume', (limitMs) => this.#node.publish(request, limitMs));
  }

  unpublish(request: { volumeId: string; targetPath: string }): Promise<void> {
    return this.#call('NodeUnpublishVolume', (limitMs) => this.#node.unpublish(request, limitMs));
  }

  expand(request: CsiExpandRequest): Promise<number> {
    return this.#call('NodeExpandVolume', (limitMs) => this.#node.expand(request, limitMs));
  }

  stats(request: { volumeId: string; volumePath: string }): Promise<CsiStats> {
    return this.#call('NodeGetVolumeStats', (limitMs) => this.#node.stats(request, limitMs));
  }

  async #call<Value>(op: string, call: (limitMs: number) => Promise<CsiAnswer<Value>>): Promise<Value> {
    const answer = await call(Math.max(1, this.#endMs - this.#clock.monotonicMs()));
    if (answer.ok) return answer.value;
    throw new CsiCallError(op, answer.code, answer.message);
  }
}
