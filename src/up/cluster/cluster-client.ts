/** A client with the rights of the cluster's administrator. */
import { fieldEquals } from '../../api/selectors.ts';
import { createInformer } from '../../api/client/informer.ts';
import { deployments, nodes, pods } from '../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { isConditionTrue } from '../../api/conditions.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { WantedObject } from './cluster-objects.ts';

export interface ClusterClient {
  readonly api: HttpApiClient;
  close(): void;
}

export function openClusterClient(kubeconfig: string): ClusterClient {
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-ts-up' });
  return { api: new HttpApiClient(transport), close: () => transport.close() };
}

/** Server-side apply: fields that other clients set are kept, and applying twice changes nothing. */
export async function applyObjects(api: HttpApiClient, wanted: readonly WantedObject[]): Promise<void> {
  for (const { type, object } of wanted) {
    const { uid: _, namespace, ...metadata } = object.metadata;
    await api.patch(
      type,
      keyOf(object),
      { type: 'apply', body: { ...object, metadata: { ...metadata, ...(type.namespaced && { namespace }) } } },
      { fieldManager: 'kubelet-ts-up', force: true },
    );
  }
}

/** Creates the object. An existing one is not changed, because users may have edited it. */
export async function createMissing<T extends ApiObject>(
  api: HttpApiClient,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  try {
    await api.create(type, object);
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error;
  }
}

export async function exists(
  api: HttpApiClient,
  type: ResourceType,
  key: { namespace: string; name: string },
): Promise<boolean> {
  try {
    await api.get(type, key);
    return true;
  } catch (error) {
    if (isApiError(error, 'NotFound')) return false;
    throw error;
  }
}

/** Resolves as soon as an object of this name satisfies `accept`. Rejects when `signal` aborts first. */
async function whenObject<T extends ApiObject>(
  api: HttpApiClient,
  type: ResourceType<T>,
  { namespace, name }: { namespace: string; name: string },
  { accept, signal }: { accept: (object: T) => boolean; signal: AbortSignal },
): Promise<void> {
  const informer = createInformer({
    client: api,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    type,
    namespace,
    fieldSelector: fieldEquals('metadata.name', name),
  });
  try {
    await new Promise<void>((resolve) => {
      const look = (object: T): void => void (accept(object) && resolve());
      informer.addHandlers({ onAdd: look, onUpdate: (_, after) => look(after) });
      informer.start();
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  } finally {
    await informer.stop();
  }
}

/** `since`: conditions from before this time do not count; they may be from an earlier run. */
export function whenNodeReady(
  api: HttpApiClient,
  name: string,
  options: { readonly sinceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const saidSince = (heartbeat: string | undefined): boolean =>
    Date.parse(heartbeat ?? '') >= Math.floor(options.sinceMs / 1000) * 1000;
  return whenObject(
    api,
    nodes,
    { namespace: '', name },
    {
      signal: options.signal,
      accept: ({ status }) =>
        isConditionTrue(status?.conditions, 'Ready') &&
        status?.conditions?.some((each) => each.type === 'Ready' && saidSince(each.lastHeartbeatTime)) === true,
    },
  );
}

export function whenAvailable(
  api: HttpApiClient,
  key: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<void> {
  return whenObject(api, deployments, key, {
    signal,
    accept: ({ metadata, spec, status }) =>
      status?.observedGeneration === metadata.generation &&
      (status?.availableReplicas ?? 0) >= (spec.replicas ?? 1) &&
      (status?.updatedReplicas ?? 0) >= (spec.replicas ?? 1),
  });
}

/** Follows all pods until `signal` aborts. `onChange` is called for every change and reads them with `list`. */
export function followPods(
  api: HttpApiClient,
  onChange: (list: () => readonly ApiObject[]) => void,
  signal: AbortSignal,
): void {
  const informer = createInformer({
    client: api,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    type: pods,
    namespace: '',
  });
  const changed = (): void => onChange(() => informer.list());
  informer.addHandlers({ onAdd: changed, onUpdate: changed, onDelete: changed });
  informer.start();
  signal.addEventListener('abort', () => void informer.stop(), { once: true });
}
