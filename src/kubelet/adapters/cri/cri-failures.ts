import { errorMessage, isKind, KubeletError, type ErrorKind } from '../../../base/errors.ts';

interface Pattern {
  text: RegExp;
  kind: ErrorKind;
  /** Only failures of this call; of any call if left out. */
  op?: string;
  /** Also where the code was that of a failed precondition. */
  conflictToo?: true;
}

/**
 * What runtimes say under the code Unknown, or under another that fits less, although CRI has a code for it. The only place of the agent where an error's text is read.
 * - a taken name: containerd (`failed to reserve container name "..."`, with Unknown up to 1.7, with FailedPrecondition since 2.0), CRI-O (`... name is reserved`);
 * - an exec over its limit: runtimes behind a Docker shim;
 * - what is gone: containerd's stores wrap the cause as the last words. A missing executable ends differently and stays Internal.
 */
const PATTERNS: readonly Pattern[] = [
  { text: /\bis reserved for\b|name is reserved\b/, kind: 'AlreadyExists', conflictToo: true },
  { text: /timed out\b|timeout \S+ exceeded/, kind: 'Timeout', op: 'ExecSync' },
  { text: /(?:container|sandbox|task|image)[^:]*: not found$/, kind: 'NotFound' },
];

/** Awaits a CRI call and gives its failure the kind it deserves; all other failures pass as they are. */
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
  const pattern = PATTERNS.find(
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
