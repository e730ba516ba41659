import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { AdmissionAnswer, AdmissionRequest, AdmissionStep } from './admission-step.ts';
import type { Rejection } from './admission-check.ts';

/** Describes the current hold, to show users why the pod waits. */
export interface Hold {
  /** The name of the step. */
  readonly by: string;
  readonly why: string;
  readonly nextTryAtMs?: number;
}

export interface Asking {
  readonly steps: readonly AdmissionStep[];
  /** Builds the request of each call, because the pod may have changed since the last one. */
  readonly request: () => Omit<AdmissionRequest, 'attempt'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly onHold: (hold: Hold) => void;
  /** Registers a function that calls the steps again immediately. Returns a function that unregisters it. */
  readonly onWake: (wake: () => void) => () => void;
}

const TIMEOUT_MS = 10_000;
const retry: BackoffCurve = { initialMs: 1000, maxMs: 30_000, factor: 2 };
/** The fallback interval if `until` never settles. */
const UNTIL_RETRY_MS = 60_000;
/**
 * The minimum time between calls, even if `until` settles sooner, so that a step that always holds does not keep the
 * agent busy.
 */
const PAUSE_MS = 100;

/**
 * Calls the steps one after another, each until it neither holds nor fails. Returns the rejection, or undefined when
 * all steps admit the pod or the signal aborts.
 */
export async function askSteps(asking: Asking): Promise<Rejection | undefined> {
  for (const step of asking.steps) {
    const rejection = await askStep(asking, step);
    if (rejection !== undefined || asking.signal.aborted) return rejection;
  }
  return undefined;
}

async function askStep(asking: Asking, step: AdmissionStep): Promise<Rejection | undefined> {
  const { clock, signal, onHold } = asking;
  for (let attempt = 1; !signal.aborted; attempt++) {
    // Whatever a step watches for its hold is released with the hold.
    const interest = new AbortController();
    const lose = (): void => interest.abort();
    signal.addEventListener('abort', lose, { once: true });
    try {
      const answer = await askOnce(asking, { step, attempt, interest: interest.signal });
      if (signal.aborted || answer.kind === 'admit') return undefined;
      if (answer.kind === 'reject') return { reason: answer.reason, message: answer.message };
      const retryMs =
        answer.retryAfterMs ?? (answer.until === undefined ? backoffDelayMs(retry, attempt) : UNTIL_RETRY_MS);
      onHold({ by: step.name, why: answer.why, nextTryAtMs: clock.nowMs() + retryMs });
      await pause(asking, retryMs, answer.until);
    } finally {
      signal.removeEventListener('abort', lose);
      lose();
    }
  }
  return undefined;
}

async function askOnce(
  { request, clock, log, signal }: Asking,
  { step, attempt, interest }: { step: AdmissionStep; attempt: number; interest: AbortSignal },
): Promise<AdmissionAnswer> {
  const limitMs = step.timeoutMs ?? TIMEOUT_MS;
  const asked = { ...request(), attempt };
  try {
    return await withDeadline({ clock, limitMs, op: `admission step ${step.name}`, signal }, async () =>
      step.admit(asked, interest),
    );
  } catch (error) {
    if (signal.aborted) return { kind: 'admit' };
    const isIgnored = step.onFailure === 'ignore';
    const { namespace, name } = asked.pod.metadata;
    log.error(
      isIgnored
        ? 'an admission step failed and is skipped'
        : 'an admission step failed; its pod waits and the step is called again',
      { step: step.name, pod: `${namespace}/${name}`, error: errorMessage(error) },
    );
    return isIgnored ? { kind: 'admit' } : { kind: 'hold', why: `the step failed: ${errorMessage(error)}` };
  }
}

/** Waits until the time is over, `until` has settled, the manager is woken or the signal aborts. */
function pause({ clock, signal, onWake }: Asking, retryMs: number, until: Promise<unknown> | undefined): Promise<void> {
  const notBeforeMs = clock.monotonicMs() + PAUSE_MS;
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      forget();
      signal.removeEventListener('abort', end);
      resolve();
    };
    let timer = clock.setTimer(Math.max(PAUSE_MS, retryMs), end);
    const soon = (): void => {
      timer.cancel();
      timer = clock.setTimer(notBeforeMs - clock.monotonicMs(), end);
    };
    const forget = onWake(soon);
    signal.addEventListener('abort', end, { once: true });
    until?.then(soon, soon);
  });
}
