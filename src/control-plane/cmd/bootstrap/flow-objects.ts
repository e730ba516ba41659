import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import {
  AUTO_UPDATE_ANNOTATION,
  standardFlowSchemas,
  standardPriorityLevels,
} from '../../../api/flowcontrol/standard-objects.ts';
import type { StandardObject } from '../../../api/flowcontrol/standard-objects.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';

type Configured<Spec> = ApiObject & { readonly spec: Spec };

/**
 * Creates missing standard objects, and restores those that are not managed by an administrator (upstream:
 * flowcontrol/ensurer).
 */
export async function ensureFlowObjects(client: ApiClient): Promise<void> {
  await ensureAll(client, priorityLevelConfigurations, standardPriorityLevels);
  await ensureAll(client, flowSchemas, standardFlowSchemas);
}

async function ensureAll<Spec, T extends Configured<Spec>>(
  client: ApiClient,
  type: ResourceType<T>,
  standard: readonly StandardObject<Spec>[],
): Promise<void> {
  const { items } = await client.list(type, '', {});
  const found = new Map(items.map((object) => [object.metadata.name, object]));
  for (const wanted of standard) {
    const object = found.get(wanted.name);
    try {
      if (object === undefined) await client.create(type, newObject<Spec, T>(wanted));
      else if (isOwnedByServer(object, wanted) && !semanticEqual(object.spec, wanted.spec))
        await client.update(type, { ...object, spec: wanted.spec });
    } catch (error) {
      // Another server or an administrator wrote it first.
      if (!isApiError(error, 'AlreadyExists', 'Conflict', 'NotFound')) throw error;
    }
  }
}

function newObject<Spec, T extends Configured<Spec>>({ name, spec }: StandardObject<Spec>): T {
  const metadata = { name, namespace: '', uid: '', annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' } };
  // The object is a FlowSchema or a PriorityLevelConfiguration, and both consist of metadata and a spec.
  return { metadata, spec } as unknown as T;
}

/**
 * Whether the server manages the object, according to its annotation. Without a valid one, it manages objects that were
 * never changed. An administrator may always change the shares of the level `exempt`.
 */
function isOwnedByServer<Spec>({ metadata }: Configured<Spec>, { name, role }: StandardObject<Spec>): boolean {
  if (role === 'mandatory' && name !== 'exempt') return true;
  const said = metadata.annotations?.[AUTO_UPDATE_ANNOTATION];
  if (said === 'true' || said === 'false') return said === 'true';
  return metadata.generation === 1;
}
