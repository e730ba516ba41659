import type { ApiClient } from '../../../api/client/api-client.ts';
import { nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { errorMessage } from '../../../base/errors.ts';
import { computeNodePatch, nodeHasChanged } from './node-patch.ts';
import { reconcileRegistration } from './reconcile-registration.ts';

export interface RegistrationRequest {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'patch'>;
  readonly initial: Node;
  /** Whether the extended resources of an existing node are set to zero. */
  readonly resetExtended: boolean;
  /**
   * The gate KubeletRegistrationGetOnExistsOnly: an agent that may not create nodes does not check whether its own
   * exists.
   */
  readonly getOnExistsOnly: boolean;
}

export type Registration =
  | { kind: 'created' | 'existed'; node: Node }
  | { kind: 'failed'; message: string; error: string };

/** Makes one attempt, with upstream's messages (tryRegisterWithAPIServer). It never throws if the API refuses. */
export async function registerNode(request: RegistrationRequest): Promise<Registration> {
  const { client, initial, getOnExistsOnly } = request;
  try {
    return { kind: 'created', node: await client.create(nodes, initial) };
  } catch (error) {
    const forbidden = isApiError(error, 'Forbidden');
    if (forbidden && getOnExistsOnly)
      return failed('Unable to register node with API server, reason is forbidden', error);
    if (!forbidden && !isApiError(error, 'AlreadyExists'))
      return failed('Unable to register node with API server', error);
  }
  return reconcileExisting(request);
}

async function reconcileExisting({ client, initial, resetExtended }: RegistrationRequest): Promise<Registration> {
  const key = { namespace: '', name: initial.metadata.name };
  let existing: Node;
  try {
    existing = await client.get(nodes, key);
  } catch (error) {
    return failed('Unable to register node with API server, error getting existing node', error);
  }
  const wanted = reconcileRegistration(initial, existing, resetExtended);
  if (!nodeHasChanged(existing, wanted)) return { kind: 'existed', node: existing };
  try {
    return {
      kind: 'existed',
      node: await client.patch(
        nodes,
        key,
        { type: 'strategic', body: computeNodePatch(existing, wanted) },
        { subresource: 'status' },
      ),
    };
  } catch (error) {
    return failed('Unable to reconcile node with API server,error updating node', error);
  }
}

function failed(message: string, error: unknown): Registration {
  return { kind: 'failed', message, error: errorMessage(error) };
}
