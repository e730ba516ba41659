import { badRequest } from '../../../api/status/api-status-error.ts';

/** Parses a resourceVersion into a revision of the store. Throws if it is invalid. */
export function parseRevision(resourceVersion: string | undefined): number {
  if (resourceVersion === undefined || resourceVersion === '') return 0;
  const revision = /^\d{1,16}$/.test(resourceVersion) ? Number(resourceVersion) : NaN;
  if (!Number.isSafeInteger(revision))
    throw badRequest(
      `Invalid value: ${JSON.stringify(resourceVersion)}: resourceVersion is not a number that this server gave out`,
    );
  return revision;
}
