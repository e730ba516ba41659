import type { ErrorKind } from '../../../base/errors.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';

interface Pattern {
  readonly text: RegExp;
  readonly kind: ErrorKind;
  /** The call of the failures; if it is absent, any call. */
  readonly op?: string;
  /** Whether failed preconditions are included. */
  readonly conflictToo?: true;
}

/**
 * Errors that runtimes send with the code Unknown, or another wrong code, although CRI has a code for them. No other
 * part of the agent parses the text of an error.
 * - a name conflict: containerd (`failed to reserve container name "..."`, with Unknown up to 1.7, with
 *   FailedPrecondition since 2.0), CRI-O (`... name is reserved`);
 * - an exec over its limit: runtimes behind a Docker shim;
 * - a missing object: containerd's stores append the cause as the last words. A missing executable ends differently and
 *   stays Internal.
 */
const patterns: readonly Pattern[] = [
  { text: /\bis reserved for\b|name is reserved\b/, kind: 'AlreadyExists', conflictToo: true },
  { text: /timed out\b|timeout \S+ exceeded/, kind: 'Timeout', op: 'ExecSync' },
  { text: /: not found$(?<=(?:container|sandbox|task|image)[^:]*: not found)/, kind: 'NotFound' },
];

/** Awaits a CRI call and corrects the kind of a failure. Other failures pass unchanged. */
export async function classified<T>(op: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw classifyFailure(op, error);
  }
}

export function classifyFailure(op: string, error: unknown): unknown {
  const conflict = isKind(error, 'Conflict');
  if (!conflict && !isKind(error, 'Internal')) return error;
  const message = errorMessage(error);
  const pattern = patterns.find(
    (candidate) =>
      (!conflict || candidate.conflictToo === true) &&
      (candidate.op === undefined || candidate.op === op) &&
      candidate.text.test(message),
  );
  return pattern === undefined
    ? error
    : new KubeletError(pattern.kind, message, {
        op,
        cause: error instanceof KubeletError ? (error.cause ?? error) : error,
      });
}
