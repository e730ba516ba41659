import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { nextTurn } from '../../base/turn.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import {
  CLEANUP_FINALIZER,
  findCrdCondition,
  isCrdConditionTrue,
} from '../../api/apiextensions/custom-resource-definition.ts';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { customResourceDefinitions } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { formatTime } from '../../api/time.ts';
import { RateLimitingQueue } from '../controller-runtime/rate-limiting-queue.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { computeCrdStatus, setCondition } from './compute-crd-status.ts';
import type { NewCondition } from './compute-crd-status.ts';
import { customPlace } from './define-custom-kind.ts';
import { DefinitionsByGroup } from './definitions-by-group.ts';

export interface CrdControllerOptions {
  readonly reader: ObjectReader;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
}

const WORKERS = 5;
const DELETIONS_PER_TURN = 20;
/** The interval of checks for missed deletions. Normally the deletion of an object wakes its definition. */
const UNSEEN_MS = 5000;

/**
 * Maintains the conditions of CustomResourceDefinitions, and deletes the objects of deleted ones (upstream: the
 * controllers of apiextensions-apiserver). Each pass reads the current definition; conflicts are retried.
 */
export function createCrdController(options: CrdControllerOptions): { start(): void; stop(): Promise<void> } {
  const { reader, clock, log } = options;
  const byGroup = new DefinitionsByGroup();
  const syncer = new CrdSyncer({ ...options, byGroup }, (name) => queue.add(name));
  const queue = new RateLimitingQueue({
    name: 'custom-resource-definitions',
    clock,
    log,
    workers: WORKERS,
    sync: (name) => syncer.sync(name),
  });
  let stopWatching: (() => void) | undefined;
  return {
    start: () => {
      stopWatching = reader.onChange(customResourceDefinitions, (before, after) => {
        byGroup.change(before, after);
        if (after !== undefined) queue.add(after.metadata.name);
        else syncer.forget(before?.metadata.name ?? '');
        // Names may be free that other definitions of the group were refused.
        for (const each of byGroup.list((after ?? before)?.spec.group ?? ''))
          if (findCrdCondition(each, 'NamesAccepted')?.status === 'False') queue.add(each.metadata.name);
      });
      for (const each of reader.list(customResourceDefinitions, '')) {
        byGroup.change(undefined, each);
        queue.add(each.metadata.name);
      }
      queue.start();
    },
    stop: async () => {
      stopWatching?.();
      syncer.close();
      await queue.stop();
    },
  };
}

interface SyncerParts extends CrdControllerOptions {
  readonly byGroup: DefinitionsByGroup;
}

class CrdSyncer {
  readonly #options: SyncerParts;
  readonly #wake: (name: string) => void;
  /** Functions that end the watches on objects whose deletion is awaited. */
  readonly #awaited = new Map<string, () => void>();

  constructor(options: SyncerParts, wake: (name: string) => void) {
    this.#options = options;
    this.#wake = wake;
  }

  forget(name: string): void {
    this.#awaited.get(name)?.();
    this.#awaited.delete(name);
  }

  close(): void {
    for (const name of this.#awaited.keys()) this.forget(name);
  }

  async sync(name: string): Promise<number | undefined> {
    const { reader, clock, byGroup } = this.#options;
    const definition = reader.get(customResourceDefinitions, { namespace: '', name });
    if (definition === undefined) return undefined;
    const { deletionTimestamp, finalizers = [] } = definition.metadata;
    if (deletionTimestamp !== undefined)
      return finalizers.includes(CLEANUP_FINALIZER) ? this.#cleanUp(definition) : undefined;
    const others = byGroup.list(definition.spec.group).filter((each) => each.metadata.name !== name);
    const status = computeCrdStatus(definition, others, formatTime(clock.nowMs()));
    if (status !== undefined) await this.#writeStatus({ ...definition, status });
    return undefined;
  }

  async #cleanUp(definition: CustomResourceDefinition): Promise<number | undefined> {
    const { name } = definition.metadata;
    if (!isCrdConditionTrue(definition, 'Established'))
      return this.#letGo(definition, {
        type: 'Terminating',
        status: 'False',
        reason: 'NeverEstablished',
        message: 'resource was never established',
      });
    const { type } = customPlace(definition);
    const { client, reader } = this.#options;
    if (!this.#awaited.has(name))
      this.#awaited.set(
        name,
        reader.onChange(type, (_, after) => after === undefined && this.#wake(name)),
      );
    const { items } = await client.list(type, '');
    for (const [index, object] of items.entries()) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      if (index % DELETIONS_PER_TURN === 0) await nextTurn();
      await client.delete(type, keyOf(object)).catch(unlessGone);
    }
    const left = (await client.list(type, '')).items.length;
    if (left === 0) {
      this.forget(name);
      return this.#letGo(definition, {
        type: 'Terminating',
        status: 'False',
        reason: 'InstanceDeletionCompleted',
        message: 'removed all instances',
      });
    }
    await this.#writeCondition(definition, {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    });
    return UNSEEN_MS;
  }

  #withCondition(definition: CustomResourceDefinition, condition: NewCondition): CustomResourceDefinition {
    const { status } = definition;
    if (status === undefined) return definition;
    const conditions = setCondition(status.conditions, condition, formatTime(this.#options.clock.nowMs()));
    return { ...definition, status: { ...status, conditions } };
  }

  async #writeCondition(definition: CustomResourceDefinition, condition: NewCondition): Promise<void> {
    const next = this.#withCondition(definition, condition);
    if (JSON.stringify(next.status) !== JSON.stringify(definition.status)) await this.#writeStatus(next);
  }

  async #letGo(definition: CustomResourceDefinition, condition: NewCondition): Promise<undefined> {
    const next = this.#withCondition(definition, condition);
    const finalizers = (next.metadata.finalizers ?? []).filter((each) => each !== CLEANUP_FINALIZER);
    await this.#writeStatus({ ...next, metadata: { ...next.metadata, finalizers } });
    return undefined;
  }

  async #writeStatus(definition: CustomResourceDefinition): Promise<void> {
    await this.#options.client
      .update(customResourceDefinitions, withoutSchemas(definition), { subresource: 'status' })
      .then(() => undefined, unlessGone);
  }
}

/** A write of the status keeps the stored spec, so the server need not read the schemas, which may be long. */
function withoutSchemas(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  return { ...definition, spec: { ...spec, versions: spec.versions.map(({ schema: _, ...version }) => version) } };
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, 'NotFound')) throw error;
}
