import { nextTurn } from '../../../base/turn.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { isLaterVersion } from '../../../api/resource-version.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';

/** The field manager of upstream's controller. Its configurations have no fields, so it owns none. */
const FIELD_MANAGER = 'storage-version-migrator-controller';
const PER_PAGE = 500;
const WRITES_PER_TURN = 20;

export interface MigratedKind {
  /** The version in which objects are listed, which may be the stored one. */
  readonly listed: ResourceType;
  readonly served: ResourceType;
}

/**
 * Rewrites every object that was last written up to this version, without a change. Resolves to false as soon as
 * `isWanted` is false. Rejects with the first error of the server (upstream: storageversionmigrator.go runMigration).
 */
export async function migrateObjects(
  client: ApiClient,
  { listed, served }: MigratedKind,
  upTo: string,
  isWanted: () => boolean,
): Promise<boolean> {
  let position: string | undefined;
  do {
    const page = await client.list(listed, '', {
      limit: PER_PAGE,
      ...(position !== undefined && { continue: position }),
    });
    for (const [index, object] of page.items.entries()) {
      if (index % WRITES_PER_TURN === 0) await nextTurn();
      if (!isWanted()) return false;
      if (!isLaterVersion(object.metadata.resourceVersion ?? '', upTo)) await rewrite(client, served, object);
    }
    position = page.continue === '' ? undefined : page.continue;
  } while (position !== undefined);
  return isWanted();
}

/** Rewrites an object. One that was changed, deleted or replaced in the meantime needs no migration. */
async function rewrite(client: ApiClient, served: ResourceType, object: ApiObject): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  try {
    await client.patch(
      served,
      keyOf(object),
      { type: 'apply', body: { metadata: { uid, resourceVersion } } },
      { fieldManager: FIELD_MANAGER },
    );
  } catch (error) {
    if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
  }
}

/** Whether the migration may continue later (upstream: isRetriableError). Every other error ends it. */
export function isRetriable(error: unknown): boolean {
  return (
    !isApiError(error) ||
    isApiError(
      error,
      'ServerTimeout',
      'TooManyRequests',
      'ServiceUnavailable',
      'InternalError',
      'Timeout',
      // The snapshot of a slow list has expired.
      'Expired',
    )
  );
}
