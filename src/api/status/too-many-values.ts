import { ApiStatusError } from './api-status-error.ts';

/** In the format of upstream's error for too many bytes. */
export function tooManyValues(limit: number): ApiStatusError {
  return new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limit} values`);
}
