import { errorMessage } from '../../base/errors.ts';
import { createLimiter } from '../../base/limiter.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import { pods } from '../../api/client/resource-types.ts';
import type { Informer } from '../../api/client/informer.ts';
import type { PodTemplateSpec } from '../../api/core/pod-template.ts';
import type { Pod } from '../../api/core/pod.ts';
import { ApiStatusError, isApiError } from '../../api/status/api-status-error.ts';
import { newControllerRef } from './controller-ref.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { Expectations } from './expectations.ts';

/** The prefix ends with a dash if the result is a valid pod name (upstream: getPodsPrefix). */
const LONGEST_NAME = 253;

/** The pod of a template; its name derives from its owner's. */
export function podFromTemplate<T extends ApiObject>(type: ResourceType<T>, owner: T, template: PodTemplateSpec): Pod {
  const { name, namespace } = owner.metadata;
  const { labels = {}, annotations = {}, finalizers } = template.metadata;
  const generateName = name.length < LONGEST_NAME ? `${name}-` : name;
  return {
    metadata: {
      name: '',
      generateName,
      namespace,
      uid: '',
      labels,
      annotations,
      ownerReferences: [newControllerRef(type, owner)],
      ...(finalizers !== undefined && { finalizers }),
    },
    spec: template.spec,
  };
}

/** Creation in a terminating namespace always fails, so no event and no retry is needed. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiStatusError &&
    (error.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}

/**
 * The maximum number of concurrent writes of one controller. A set of thousands must not fill a turn of the event loop
 * with hundreds of requests, for which clients would wait.
 */
const WRITES_AT_ONCE = 32;

export interface PodControlOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly recorder: EventRecorder;
  readonly informer: Informer<Pod>;
  readonly expectations: Expectations;
  readonly type: ResourceType<T>;
  /** Texts of events. Absent: `Created pod: x`, `Error creating: why`, and the same for deletions. */
  readonly say?: (done: 'create' | 'delete', owner: T, pod: Pod, error: unknown) => string;
}

/** Creates and deletes pods for an owner, records events, and sets expectations (upstream: RealPodControl). */
export class PodControl<T extends ApiObject> {
  readonly #options: PodControlOptions<T>;
  readonly #limit = createLimiter(WRITES_AT_ONCE);

  constructor(options: PodControlOptions<T>) {
    this.#options = options;
  }

  /** The created pod; undefined in a terminating namespace, which counts as success. Rejects with the API's error. */
  async create(key: string, owner: T, pod: Pod): Promise<Pod | undefined> {
    const { client, recorder, informer, expectations, type, say = sayPlainly } = this.#options;
    let created: Pod;
    try {
      created = await this.#limit(() => client.create(pods, pod));
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      // A pod of a fixed name that the cache does not show yet.
      if (pod.metadata.name !== '' && isApiError(error, 'AlreadyExists')) throw error;
      recorder.event(type, owner, {
        type: 'Warning',
        reason: 'FailedCreate',
        message: say('create', owner, pod, error),
      });
      throw error;
    }
    if (informer.get(keyOf(created))?.metadata.uid !== created.metadata.uid)
      expectations.expect(key, 'created', created.metadata.uid);
    recorder.event(type, owner, {
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: say('create', owner, created, undefined),
    });
    return created;
  }

  /** Rejects with the API's error; a missing pod is success. */
  async delete(key: string, owner: T, pod: Pod): Promise<void> {
    const { client, recorder, informer, expectations, type, say = sayPlainly } = this.#options;
    const { uid } = pod.metadata;
    expectations.expect(key, 'deleted', uid);
    try {
      await this.#limit(() => client.delete(pods, keyOf(pod), { preconditions: { uid } }));
    } catch (error) {
      expectations.observe('deleted', uid);
      // If another pod has the name, this one is gone.
      if (isApiError(error, 'NotFound', 'Conflict')) return;
      recorder.event(type, owner, {
        type: 'Warning',
        reason: 'FailedDelete',
        message: say('delete', owner, pod, error),
      });
      throw error;
    }
    const known = informer.get(keyOf(pod));
    if (known?.metadata.uid !== uid || known.metadata.deletionTimestamp !== undefined)
      expectations.observe('deleted', uid);
    const message = say('delete', owner, pod, undefined);
    recorder.event(type, owner, { type: 'Normal', reason: 'SuccessfulDelete', message });
  }
}

function sayPlainly(done: 'create' | 'delete', _owner: unknown, pod: Pod, error: unknown): string {
  if (error === undefined) return `${done === 'create' ? 'Created' : 'Deleted'} pod: ${pod.metadata.name}`;
  return `Error ${done === 'create' ? 'creating' : 'deleting'}: ${errorMessage(error)}`;
}
