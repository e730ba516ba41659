import { errorKind, errorMessage, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';

/** The names of the gRPC status codes by number, as Go prints them. */
const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

export type GrpcCodeName = (typeof codeNames)[number];

/** The status that ended a gRPC call. grpc-js's ServiceError has this shape. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

/**
 * The error kind of each code. A cancellation that we did not request means that the runtime cancelled the call because
 * it stops: `Unavailable`. `ResourceExhausted` means on both sides that a message exceeds the size limit; a retry does
 * not help.
 */
const kindOfCode: Readonly<Record<GrpcCodeName, ErrorKind>> = {
  OK: 'Internal',
  Canceled: 'Unavailable',
  Unknown: 'Internal',
  InvalidArgument: 'Invalid',
  DeadlineExceeded: 'Timeout',
  NotFound: 'NotFound',
  AlreadyExists: 'AlreadyExists',
  PermissionDenied: 'Internal',
  ResourceExhausted: 'Internal',
  FailedPrecondition: 'Conflict',
  Aborted: 'Conflict',
  OutOfRange: 'Invalid',
  Unimplemented: 'Unimplemented',
  Internal: 'Internal',
  Unavailable: 'Unavailable',
  DataLoss: 'Internal',
  Unauthenticated: 'Internal',
};

const codeOfKind: Readonly<Record<ErrorKind, GrpcCodeName>> = {
  NotFound: 'NotFound',
  AlreadyExists: 'AlreadyExists',
  Conflict: 'FailedPrecondition',
  Invalid: 'InvalidArgument',
  Unavailable: 'Unavailable',
  Timeout: 'DeadlineExceeded',
  Unimplemented: 'Unimplemented',
  Aborted: 'Canceled',
  Internal: 'Unknown',
};

export function grpcCode(name: GrpcCodeName): number {
  return codeNames.indexOf(name);
}

export function grpcCodeByName(name: string): number | undefined {
  const code = codeNames.findIndex((known) => known === name);
  return code === -1 ? undefined : code;
}

function isGrpcStatus(value: unknown): value is GrpcStatus {
  return (
    typeof value === 'object' &&
    value !== null &&
    'code' in value &&
    typeof value.code === 'number' &&
    'details' in value &&
    typeof value.details === 'string'
  );
}

/** `full`: the format of a Go client. `bareUnknown`: the same, but the code Unknown is omitted. */
export type StatusWording = 'full' | 'bareUnknown';

/**
 * A server that is killed while it answers ends the stream without a status. grpc-js reports Internal for that; Go's
 * clients report Unavailable, which callers retry.
 */
function codeOf({ code, details }: GrpcStatus): GrpcCodeName {
  return details.endsWith('(Call ended without gRPC status)') ? 'Unavailable' : (codeNames[code] ?? 'Unknown');
}

/**
 * Converts a failed call to a KubeletError; no other code does this. The text is that of a Go client, because operators
 * search events for "rpc error: code = Unknown desc = ...".
 */
export function errorFromStatus(op: string, failure: unknown, wording: StatusWording = 'full'): KubeletError {
  if (failure instanceof KubeletError) return failure;
  if (!isGrpcStatus(failure))
    return new KubeletError('Internal', `${op}: ${errorMessage(failure)}`, { op, cause: failure });
  const code = codeOf(failure);
  // grpc-js describes its own deadline in detail. Go always prints the same two words, and operators search for them.
  const details =
    code === 'DeadlineExceeded' && failure.details.startsWith('Deadline exceeded')
      ? 'context deadline exceeded'
      : failure.details;
  const bare = wording === 'bareUnknown' && code === 'Unknown';
  const message = bare ? details : `rpc error: code = ${code} desc = ${details}`;
  return new KubeletError(kindOfCode[code], message, { op, cause: failure });
}

/** The code of a failed call; undefined for a failure without a gRPC status. */
export function grpcCodeOf(error: unknown): GrpcCodeName | undefined {
  const status = error instanceof KubeletError ? error.cause : error;
  return isGrpcStatus(status) ? codeOf(status) : undefined;
}

/** The name of the code with which a failure is sent. */
export const codeName = (error: unknown): GrpcCodeName => codeNames[statusFromError(error).code] ?? 'Unknown';

/** The status for an error, for servers. A status from another gRPC server is passed on unchanged. */
export function statusFromError(error: unknown): GrpcStatus {
  if (error instanceof KubeletError && isGrpcStatus(error.cause))
    return { code: error.cause.code, details: error.cause.details };
  return { code: grpcCode(codeOfKind[errorKind(error)]), details: errorMessage(error) };
}
