import { badRequest } from '../../api/status/api-status-error.ts';
import { isDeeperThan } from './json-value.ts';

/** The maximum depth. No valid object is nested so deeply, and decoding would refuse deeper ones later. */
export const MAX_DEPTH = 200;

/** Refuses patches that are nested too deeply. */
export function checkDepth(patch: unknown): void {
  if (isDeeperThan(patch, MAX_DEPTH)) throw badRequest(`error decoding patch: nested deeper than ${MAX_DEPTH} levels`);
}
