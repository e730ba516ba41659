import { ApiStatusError } from './api-status-error.ts';

/** In the words in which upstream refuses too many bytes. */
export function tooManyValues(limit: number): ApiStatusError {
  return new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limit} values`);
}
