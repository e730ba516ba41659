import { isKind } from '../../../base/errors.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { jsonReply } from '../http/reply.ts';
import type { SnapshotSource } from '../options.ts';
import type { Endpoint } from '../path/dispatch.ts';
import { unsupportedMethod } from '../path/dispatch.ts';

export const SNAPSHOT_PATH = '/snapshot';

/**
 * Serves `/snapshot`: the store page by page, including Secrets, for users who may `get` this path (in the bootstrap
 * roles only administrators). `revision` and `after` come from the previous page. Upstream has no such path; there etcd
 * provides snapshots.
 */
export function snapshotEndpoint(source: SnapshotSource): Endpoint {
  return async ({ path, query, http }) => {
    if (path !== SNAPSHOT_PATH) return undefined;
    if (http.method !== 'GET') throw unsupportedMethod();
    const [revision, after] = [query.get('revision'), query.get('after')];
    if (revision !== null && !/^[1-9]\d{0,14}$/.test(revision))
      throw new ApiStatusError('BadRequest', `revision: ${JSON.stringify(revision)} is not a revision`);
    try {
      const page = await source({
        ...(revision !== null && { revision: Number(revision) }),
        ...(after !== null && { after }),
      });
      return jsonReply(200, JSON.stringify(page));
    } catch (error) {
      if (isKind(error, 'Conflict'))
        throw new ApiStatusError(
          'Expired',
          'the history of this revision was compacted while the snapshot was taken: start again',
        );
      throw error;
    }
  };
}
