import { badRequest } from '../../../api/status/api-status-error.ts';

/** A resourceVersion as a revision of the store. Throws for an invalid one. */
export function parseRevision(resourceVersion: string | undefined): number {
  if (resourceVersion === undefined || resourceVersion === '') return 0;
  const revision = /^\d{1,16}$/.test(resourceVersion) ? Number(resourceVersion) : NaN;
  if (!Number.isSafeInteger(revision))
    throw badRequest(
      `Invalid value: ${JSON.stringify(resourceVersion)}: resourceVersion is not a number that this server gave out`,
    );
  return revision;
}
