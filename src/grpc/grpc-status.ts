import { errorKind, errorMessage, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';

/** Names of the gRPC status codes, by number, spelled as Go prints them. */
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

/** What a gRPC call ended with. grpc-js's ServiceError has this shape. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

/**
 * A cancellation that we did not ask for means that the runtime gave the call up (it is stopping): `Unavailable`.
 * `ResourceExhausted` is how both sides report a message above the size limit; trying again does not help.
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

/**
 * `full`: as a Go client prints it. `bareUnknown`: the same, without the code where that is Unknown and adds nothing.
 */
export type StatusWording = 'full' | 'bareUnknown';

/**
 * A server that is killed in the middle of an answer ends the stream without a status. grpc-js calls that Internal; Go's
 * clients, and all who try again, call a server that is gone Unavailable.
 */
function codeOf({ code, details }: GrpcStatus): GrpcCodeName {
  return details.endsWith('(Call ended without gRPC status)') ? 'Unavailable' : (codeNames[code] ?? 'Unknown');
}

/**
 * The one place where a failed call becomes a KubeletError. The text is the one a Go client prints, because operators
 * search events for "rpc error: code = Unknown desc = ...".
 */
export function errorFromStatus(op: string, failure: unknown, wording: StatusWording = 'full'): KubeletError {
  if (failure instanceof KubeletError) return failure;
  if (!isGrpcStatus(failure))
    return new KubeletError('Internal', `${op}: ${errorMessage(failure)}`, { op, cause: failure });
  const code = codeOf(failure);
  // grpc-js explains a deadline of its own at length; Go says the same two words everywhere, and people search for
  // them.
  const details =
    code === 'DeadlineExceeded' && failure.details.startsWith('Deadline exceeded')
      ? 'context deadline exceeded'
      : failure.details;
  const bare = wording === 'bareUnknown' && code === 'Unknown';
  const message = bare ? details : `rpc error: code = ${code} desc = ${details}`;
  return new KubeletError(kindOfCode[code], message, { op, cause: failure });
}

/** The code a failed call ended with; undefined for a failure that no gRPC status stands behind. */
export function grpcCodeOf(error: unknown): GrpcCodeName | undefined {
  const status = error instanceof KubeletError ? error.cause : error;
  return isGrpcStatus(status) ? codeOf(status) : undefined;
}

/** The name of the code that a failure is sent with. */
export const codeName = (error: unknown): GrpcCodeName => codeNames[statusFromError(error).code] ?? 'Unknown';

/** The way back, for servers. A status that came from another gRPC server passes through unchanged. */
export function statusFromError(error: unknown): GrpcStatus {
  if (error instanceof KubeletError && isGrpcStatus(error.cause))
    return { code: error.cause.code, details: error.cause.details };
  return { code: grpcCode(codeOfKind[errorKind(error)]), details: errorMessage(error) };
}
