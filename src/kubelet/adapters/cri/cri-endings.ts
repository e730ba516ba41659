import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import type { ErrorKind } from '../../../base/errors.ts';

export interface Ending {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** The call that stops or removes something. */
  readonly call: () => Promise<unknown>;
  /** Asks the runtime whether the object is stopped or removed. */
  readonly isReached: () => Promise<boolean>;
  /** Whether the call may be repeated immediately, because it has no grace period. */
  readonly isRepeatable: boolean;
}

/**
 * The pauses while a call may conflict with an exit in progress: the shim knows of the exit, and the runtime has not
 * processed it (seen with containerd 1.6: `ttrpc: closed`).
 */
const settlingMs = [50, 250];
/** With these kinds, the object is gone or a repetition of the call cannot succeed. */
const final: ReadonlySet<ErrorKind> = new Set(['NotFound', 'Aborted', 'Invalid', 'Unimplemented']);

/**
 * Makes a call that stops or removes something. A failed call says nothing about the state of its object, so the
 * runtime is queried: if the goal is reached, the call succeeded. Otherwise the state is checked again while an exit
 * may be in progress, and the call is repeated if that is allowed. At the end it rejects with the call's own error. A
 * call that timed out, or whose result cannot be checked, is not repeated.
 */
export async function brought({ clock, signal, call, isReached, isRepeatable }: Ending): Promise<void> {
  let failure = await failureOf(call);
  for (const waitMs of [...settlingMs, Infinity]) {
    if (failure === undefined) return;
    const kind = errorKind(failure);
    if (final.has(kind)) throw failure;
    const reached = await isReached().catch(() => undefined);
    if (reached === true) return;
    if (reached === undefined || kind === 'Timeout' || waitMs === Infinity) throw failure;
    await sleep(clock, waitMs, signal);
    if (isRepeatable) failure = await failureOf(call);
  }
}

async function failureOf(call: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new KubeletError('Internal', String(error));
  }
}
