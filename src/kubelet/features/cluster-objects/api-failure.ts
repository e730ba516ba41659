import type { ErrorKind } from '../../../base/errors.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { StatusReason } from '../../../api/status/api-status-error.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

/**
 * The answers of an API server about the object. All other failures are about the server: it is unavailable, too busy,
 * or does not recognise the client.
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

/** Whether the API server answered about the object. Then its answer is used instead of a cached object. */
export function isAnswer(error: unknown): error is ApiStatusError {
  return error instanceof ApiStatusError && answers[error.reason] !== undefined;
}

/** Converts an error of an API client to an error of features, with the same text. */
export function fromApi(error: unknown, op: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const kind = error instanceof ApiStatusError ? (answers[error.reason] ?? 'Unavailable') : 'Unavailable';
  return new KubeletError(kind, errorMessage(error), { op, cause: error });
}
