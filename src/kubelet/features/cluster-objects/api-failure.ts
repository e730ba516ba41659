import type { ErrorKind } from '../../../base/errors.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { StatusReason } from '../../../api/status/api-status-error.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

/**
 * Answers of an API server about the request. Every other failure is about the server: it is unavailable, too busy, or
 * does not recognise the client.
 */
const answers: Partial<Record<StatusReason, ErrorKind>> = {
  NotFound: 'NotFound',
  Forbidden: 'Invalid',
  Invalid: 'Invalid',
  BadRequest: 'Invalid',
  AlreadyExists: 'AlreadyExists',
  Conflict: 'Conflict',
  MethodNotAllowed: 'Unimplemented',
  Gone: 'NotFound',
};

/** Whether the API server answered for the object: then its answer counts, and no cached object. */
export function isAnswer(error: unknown): error is ApiStatusError {
  return error instanceof ApiStatusError && answers[error.reason] !== undefined;
}

/** Maps the error of an API client to the errors of features, its text unchanged. */
export function fromApi(error: unknown, op: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const kind = error instanceof ApiStatusError ? (answers[error.reason] ?? 'Unavailable') : 'Unavailable';
  return new KubeletError(kind, errorMessage(error), { op, cause: error });
}
