/** All ways in which an operation on the outside world can fail. Code checks the kind, never the message. */
export type ErrorKind =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'Unavailable'
  | 'Timeout'
  | 'Unimplemented'
  | 'Aborted'
  | 'Internal';

export interface KubeletErrorOptions {
  /** The operation that failed, for people: `RunPodSandbox`, `mount`, `read manifest`. */
  readonly op?: string;
  readonly cause?: unknown;
}

/**
 * The only error class used between modules. Adapters convert gRPC codes, HTTP statuses and errno into it exactly once.
 */
export class KubeletError extends Error {
  readonly kind: ErrorKind;
  readonly op: string | undefined;

  constructor(kind: ErrorKind, message: string, options: KubeletErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    if (isOrdinary(kind)) Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'KubeletError';
    this.kind = kind;
    this.op = options.op;
  }
}

/**
 * Whether callers expect the error, so that no stack is needed. Recording a stack takes most of the time of creating an
 * error, and missing files and containers are frequent.
 */
function isOrdinary(kind: ErrorKind): boolean {
  return kind === 'NotFound' || kind === 'Aborted';
}

/** Returns the kind of any thrown value: `Aborted` for an abort, `Internal` for other foreign errors. */
export function errorKind(error: unknown): ErrorKind {
  if (error instanceof KubeletError) return error.kind;
  if (error instanceof Error && error.name === 'AbortError') return 'Aborted';
  return 'Internal';
}

export function isKind(error: unknown, kind: ErrorKind): boolean {
  return errorKind(error) === kind;
}

/** Returns the text of any thrown value, for logs, events and `explain`. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the code of a failed system call, such as `ENOENT`, or of an error of Node, such as
 * `ERR_PARSE_ARGS_UNKNOWN_OPTION`.
 */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Runs `action`; `NotFound` counts as success, because the object to delete does not exist. */
export async function ignoreNotFound(action: Promise<unknown>): Promise<void> {
  try {
    await action;
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error;
  }
}

/** Makes the compiler check that every case of a union is handled. */
export function unreachable(value: never): never {
  throw new KubeletError('Internal', `unhandled case ${JSON.stringify(value)}`);
}
