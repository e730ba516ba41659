import { errorMessage, KubeletError, type ErrorKind } from '../../../base/errors.ts';
import { ApiStatusError, type StatusReason } from '../../../api/status/api-status-error.ts';

/** What an API server says of a request. Everything else says something of the server: that it is away, too busy, or does not know who asks. */
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

/** Whether the API server has spoken about what was asked: then its word counts, and nothing that was kept. */
export function isAnswer(error: unknown): error is ApiStatusError {
  return error instanceof ApiStatusError && answers[error.reason] !== undefined;
}

/** The error of an API client as features know errors, its text unchanged. */
export function fromApi(error: unknown, op: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const kind = error instanceof ApiStatusError ? (answers[error.reason] ?? 'Unavailable') : 'Unavailable';
  return new KubeletError(kind, errorMessage(error), { op, cause: error });
}
