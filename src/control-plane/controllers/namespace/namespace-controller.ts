import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { namespaces, pods } from '../../../api/client/resource-types.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import { ApiStatusError, formatGroupResource, isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { emptyOtherApis } from './empty-other-apis.ts';
import { namespaceConditions } from './namespace-conditions.ts';
import type { Remains } from './namespace-conditions.ts';

/** The number of concurrent syncs (upstream: --concurrent-namespace-syncs). */
const WORKERS = 10;
const FINALIZER = 'kubernetes';
/** Uninitialized objects must be deleted too. */
const everyObject = { includeUninitialized: true };
/**
 * The interval of checks. The deletion of each object wakes its namespace; the interval covers objects that the
 * informers never saw.
 */
const UNSEEN_MS = 15_000;

export interface NamespaceControllerOptions extends ControllerOptions {
  /** All built-in namespaced kinds. */
  readonly types: readonly ResourceType[];
  readonly customKinds?: CustomKinds;
  /** The other servers that store objects. */
  readonly otherApis?: OtherApis;
}

/**
 * Deletes the objects of terminating namespaces, and finalizes a namespace when nothing is left (upstream: namespace
 * controller).
 * 1. Objects are deleted only in terminating namespaces.
 * 2. The server, not a cache, confirms that a namespace is empty.
 */
export function createNamespaceController(options: NamespaceControllerOptions): Controller {
  const { informers, clock, log } = options;
  const spaces = informers.for(namespaces);
  const contents = options.types.map((type) => informers.for(type));
  const emptier = new NamespaceEmptier(options, spaces);
  const queue = new RateLimitingQueue({
    name: 'namespace',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => emptier.sync(key),
  });
  const consider = (space: Namespace): void => {
    if (space.metadata.deletionTimestamp !== undefined) queue.add(space.metadata.name);
  };
  const ends = [
    spaces.addHandlers({ onAdd: consider, onUpdate: (_, after) => consider(after) }),
    ...contents.map((informer) =>
      informer.addHandlers({
        onDelete: (last) => wakeSpace(spaces, last, consider),
        onAdd: (object) => wakeSpace(spaces, object, consider),
      }),
    ),
  ];
  return runController({ name: 'namespace controller', log, queues: [queue], informers: [spaces], ends });
}

function wakeSpace(spaces: Informer<Namespace>, { metadata }: ApiObject, consider: (space: Namespace) => void): void {
  const space = spaces.get({ namespace: '', name: metadata.namespace });
  if (space !== undefined) consider(space);
}

class NamespaceEmptier {
  readonly #options: NamespaceControllerOptions;
  readonly #spaces: Informer<Namespace>;
  readonly #podsFirst: readonly ResourceType[];

  constructor(options: NamespaceControllerOptions, spaces: Informer<Namespace>) {
    this.#options = options;
    this.#podsFirst = [...options.types].sort(
      (left, right) => Number(right.plural === pods.plural) - Number(left.plural === pods.plural),
    );
    this.#spaces = spaces;
  }

  async sync(name: string): Promise<number | undefined> {
    const space = this.#spaces.get({ namespace: '', name });
    if (space?.metadata.deletionTimestamp === undefined || space.spec.finalizers?.includes(FINALIZER) !== true)
      return undefined;
    const remains = await this.#empty(name);
    const current = await this.#report(space, remains);
    // The pass is retried with increasing delays, because no event may wake the namespace.
    if (remains.failures.length > 0 || remains.unavailable.length > 0)
      throw new ApiStatusError(
        'InternalError',
        `unable to delete all of namespace ${name}: ${[...remains.failures, ...remains.unavailable].join(', ')}`,
      );
    if (current === undefined) return undefined;
    if (remains.counts.size > 0) return UNSEEN_MS;
    const finalizers = (current.spec.finalizers ?? []).filter((each) => each !== FINALIZER);
    try {
      await this.#options.client.update(
        namespaces,
        { ...current, spec: { ...current.spec, finalizers } },
        { subresource: 'finalize' },
      );
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  async #empty(namespace: string): Promise<Remains> {
    const counts = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: string[] = [];
    const { customKinds, otherApis = noOtherApis } = this.#options;
    const custom = (customKinds?.list() ?? []).map(({ type }) => type);
    for (const type of [...this.#podsFirst, ...custom.filter(({ namespaced }) => namespaced)]) {
      try {
        await this.#deleteAll(type, namespace);
        const { items } = await this.#options.client.list(type, namespace, everyObject);
        if (items.length > 0) counts.set(`${type.plural}.${type.group}`, items.length);
        for (const each of items.flatMap(({ metadata }) => metadata.finalizers ?? []))
          finalizers.set(each, (finalizers.get(each) ?? 0) + 1);
      } catch (error) {
        if (!isApiError(error)) throw error;
        failures.push(`${formatGroupResource(type)}: ${error.message}`);
      }
      // Objects that pods may still need (policies, secrets) are deleted after them (upstream:
      // OrderedNamespaceDeletion).
      if (type.plural === pods.plural && type.group === pods.group && (counts.size > 0 || failures.length > 0))
        return { counts, finalizers, failures, unavailable: [] };
    }
    const unavailable = await emptyOtherApis(otherApis, namespace, { counts, finalizers, failures });
    return { counts, finalizers, failures, unavailable };
  }

  async #deleteAll(type: ResourceType, namespace: string): Promise<void> {
    const { items } = await this.#options.client.list(type, namespace, everyObject);
    for (const object of items) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      try {
        await this.#options.client.delete(type, keyOf(object), { propagationPolicy: 'Background' });
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    }
  }

  /** Writes the remaining content as conditions. Resolves to the updated namespace. */
  async #report(space: Namespace, remains: Remains): Promise<Namespace | undefined> {
    const { client, clock } = this.#options;
    const nowText = formatTime(clock.nowMs());
    const conditions = namespaceConditions(space, remains, nowText);
    const before = space.status?.conditions ?? [];
    if (conditions.length === before.length && conditions.every((condition, index) => condition === before[index]))
      return space;
    try {
      return await client.update(
        namespaces,
        { ...space, status: { ...space.status, conditions } },
        { subresource: 'status' },
      );
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}
