import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import type { ErrorKind } from '../../../base/errors.ts';

export interface Ending {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Stops or removes something. */
  readonly call: () => Promise<unknown>;
  /** Asks the runtime whether it is stopped or removed. */
  readonly isReached: () => Promise<boolean>;
  /** The call may be repeated at once: it has no grace period. */
  readonly isRepeatable: boolean;
}

/**
 * How long a call may conflict with an exit in progress: the runtime has not processed an exit yet that its shim knows
 * of (seen with containerd 1.6: `ttrpc: closed`).
 */
const settlingMs = [50, 250];
/** With these kinds the runtime reported that the object is gone, or the call cannot succeed by repetition. */
const final: ReadonlySet<ErrorKind> = new Set(['NotFound', 'Aborted', 'Invalid', 'Unimplemented']);

/**
 * Makes a call that stops or removes something. A failed call says nothing about the state of its object: the runtime
 * is asked, and if the goal is reached, the call is a success. If it is not, the state is checked again while an exit
 * may be in progress, and the call is repeated where that is allowed; then the call's own failure counts. A call that
 * timed out is not repeated here, nor one whose result cannot be checked.
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
