import { formatInvalid } from '../validation/field-error.ts';
import type { FieldError, FieldErrorType } from '../validation/field-error.ts';
import type { Status, StatusCause, StatusDetails } from './status.ts';

/** meta/v1 StatusReason: what went wrong, as a closed set that clients branch on. */
export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'Invalid'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'ServerTimeout'
  | 'Timeout'
  /** The API server has no reason: the Status contains none, and the code is 500. */
  | 'Unknown';

const codes: Record<StatusReason, number> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  ServerTimeout: 504,
  Timeout: 504,
  Unknown: 500,
};

/** A group and the plural of a resource; most errors refer to one. */
export interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** An error of the API, for server and client. Code branches on `reason`, never on the text. */
export class ApiStatusError extends Error {
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails | undefined;
  /** For a list with an expired version: the token with which a client can continue anyway. */
  readonly continueToken: string | undefined;

  constructor(
    reason: StatusReason,
    message: string,
    details?: StatusDetails,
    {
      cause,
      continueToken,
      code,
    }: { readonly cause?: unknown; readonly continueToken?: string; readonly code?: number } = {},
  ) {
    // Only webhooks choose a code of their own.
    const status = code ?? codes[reason];
    const { stackTraceLimit } = Error;
    // An answer to the client, as any other. Recording a stack takes most of the time of making an error.
    if (status < 500) Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiStatusError';
    this.reason = reason;
    this.code = status;
    this.details = details;
    this.continueToken = continueToken;
  }

  toStatus(): Status {
    const { message, reason, details, code, continueToken } = this;
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: { ...(continueToken !== undefined && { continue: continueToken }) },
      status: 'Failure',
      message,
      ...(reason !== 'Unknown' && { reason }),
      ...(details !== undefined && { details }),
      code,
    };
  }
}

/** The error that a client throws for a Status from the server; an unknown reason is replaced by one for the code. */
export function apiErrorFromStatus(status: Status): ApiStatusError {
  const reason =
    status.reason !== undefined && Object.hasOwn(codes, status.reason)
      ? (status.reason as StatusReason)
      : reasonOfCode(status.code ?? 500);
  return new ApiStatusError(reason, status.message ?? reason, status.details);
}

function reasonOfCode(code: number): StatusReason {
  const found = Object.entries(codes).find(([, each]) => each === code);
  return found === undefined ? 'InternalError' : (found[0] as StatusReason);
}

export function isApiError(error: unknown, ...reasons: readonly StatusReason[]): error is ApiStatusError {
  return error instanceof ApiStatusError && (reasons.length === 0 || reasons.includes(error.reason));
}

/** Awaits a write; `NotFound` counts as success, because the object no longer exists. */
export async function ignoreApiNotFound(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
  }
}

/** `deployments.apps`, or `pods` in the core group. */
export function formatGroupResource({ group, plural }: GroupResource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

const detailsOf = ({ group, plural }: GroupResource, name: string): StatusDetails => ({
  ...(name !== '' && { name }),
  ...(group !== '' && { group }),
  ...(plural !== '' && { kind: plural }),
});

export const badRequest = (message: string): ApiStatusError => new ApiStatusError('BadRequest', message);

export const notFound = (resource: GroupResource, name: string): ApiStatusError =>
  new ApiStatusError(
    'NotFound',
    `${formatGroupResource(resource)} ${JSON.stringify(name)} not found`,
    detailsOf(resource, name),
  );

export const alreadyExists = (resource: GroupResource, name: string): ApiStatusError =>
  new ApiStatusError(
    'AlreadyExists',
    `${formatGroupResource(resource)} ${JSON.stringify(name)} already exists`,
    detailsOf(resource, name),
  );

export const conflict = (resource: GroupResource, name: string, why: string): ApiStatusError =>
  new ApiStatusError(
    'Conflict',
    `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${JSON.stringify(name)}: ${why}`,
    detailsOf(resource, name),
  );

/** The error for an update of an outdated version. */
export const staleObject = (resource: GroupResource, name: string): ApiStatusError =>
  conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

/**
 * Without `name` for lists and creates. `why` is the message of an authorizer or admission, which follows after a
 * colon.
 */
export const forbidden = (resource: GroupResource, name: string, why: string): ApiStatusError => {
  const named =
    name === ''
      ? `${formatGroupResource(resource)} is forbidden`
      : `${formatGroupResource(resource)} ${JSON.stringify(name)} is forbidden`;
  return new ApiStatusError(
    'Forbidden',
    resource.plural === '' ? `forbidden: ${why}` : `${named}: ${why}`,
    detailsOf(resource, name),
  );
};

export const expired = (message: string): ApiStatusError => new ApiStatusError('Expired', message);

export function internalError(cause: unknown): ApiStatusError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ApiStatusError(
    'InternalError',
    `Internal error occurred: ${message}`,
    { causes: [{ message }] },
    { cause },
  );
}

const causeReasons: Record<FieldErrorType, string> = {
  'Required value': 'FieldValueRequired',
  'Invalid value': 'FieldValueInvalid',
  'Unsupported value': 'FieldValueNotSupported',
  'Duplicate value': 'FieldValueDuplicate',
  'Not found': 'FieldValueNotFound',
  Forbidden: 'FieldValueForbidden',
  'Too long': 'FieldValueTooLong',
  'Too many': 'FieldValueTooMany',
};

/** 422 with one cause for each error; `group` and `kind` are those of the object. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): ApiStatusError {
  const distinct = new Map<string, FieldError>();
  // There may be as many errors as a body has parts, so they are deduplicated in linear time.
  for (const error of errors) {
    const key = `${error.field}\0${error.message}`;
    if (!distinct.has(key)) distinct.set(key, error);
  }
  const causes = [...distinct.values()].map(
    (error): StatusCause => ({
      reason: error.isWrongType === true ? 'FieldValueTypeInvalid' : causeReasons[error.type],
      message: error.message,
      field: error.field,
    }),
  );
  const named = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const details: StatusDetails = {
    ...(name !== '' && { name }),
    ...(kind.group !== '' && { group: kind.group }),
    kind: kind.kind,
    causes,
  };
  return new ApiStatusError('Invalid', formatInvalid(named, name, errors), details);
}
