import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { StatefulSet, StatefulSetStatus } from '../../../api/apps/stateful-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, persistentVolumeClaims, pods, statefulSets } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { claimObjects, ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { nextAvailableMs } from '../../controller-runtime/pod-facts.ts';
import { restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import { SetExecutor } from './set-executor.ts';
import { selectForgotten, SetHistories, sortRevisions } from './set-history.ts';
import { isMember } from './set-names.ts';
import { planStatefulSet } from './set-plan.ts';
import type { SetFacts, SetPlan } from './set-plan.ts';
import { computeSetStatus, isSameStatus } from './set-status.ts';

/** The number of concurrent syncs (upstream: --concurrent-statefulset-syncs). */
const WORKERS = 5;

interface Parts {
  readonly sets: Informer<StatefulSet>;
  readonly revisions: Informer<ControllerRevision>;
  readonly unseenRevisions: UnseenObjects<ControllerRevision>;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly expectations: Expectations;
}

/** Maintains the numbered pods of each StatefulSet and their claims. */
export function createStatefulSetController(options: ControllerOptions): Controller {
  const { informers, clock } = options;
  const revisions = informers.for(controllerRevisions);
  const parts: Parts = {
    sets: informers.for(statefulSets),
    revisions,
    unseenRevisions: new UnseenObjects(revisions, clock),
    podInformer: informers.for(pods),
    claims: informers.for(persistentVolumeClaims),
    expectations: new Expectations(clock),
  };
  const syncer = new StatefulSetSyncer(options, parts);
  return createQueueController(options, {
    name: 'statefulset',
    workers: WORKERS,
    syncer,
    informers: [parts.sets, parts.revisions, parts.podInformer, parts.claims],
    follow: (add) => [
      wakeOwners({ owners: parts.sets, dependents: parts.podInformer, expectations: parts.expectations, add }),
      wakeOwners({ owners: parts.sets, dependents: parts.revisions, add }),
      parts.unseenRevisions.observe(),
      parts.claims.addHandlers({ onDelete: (claim) => syncer.setsWaitingFor(claim).forEach(add) }),
    ],
  });
}

class StatefulSetSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #podIndex: ControlledIndex<Pod>;
  readonly #revisionIndex: ControlledIndex<ControllerRevision>;
  readonly #histories: SetHistories;
  readonly #executor: SetExecutor;
  readonly #ownWrites = new OwnWrites();
  /** The keys of sets by the key of a claim that must be deleted first. */
  readonly #waiting = new Map<string, string>();

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#podIndex = new ControlledIndex(parts.podInformer);
    this.#revisionIndex = new ControlledIndex(parts.revisions);
    this.#histories = new SetHistories(options.client, parts.unseenRevisions);
    const recorder = createEventRecorder({ ...options, component: 'statefulset-controller' });
    this.#executor = new SetExecutor({ client: options.client, recorder, ...parts });
  }

  setsWaitingFor(claim: PersistentVolumeClaim): string[] {
    const key = formatKey(keyOf(claim));
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    return waiting === undefined ? [] : [waiting];
  }

  /** Returns the pause between passes. A pass reads every pod of the set. */
  restMs(key: string): number {
    const set = this.#parts.sets.getByKey(key);
    return set === undefined ? 0 : restOfSet(this.#podIndex.countOf(set));
  }

  async sync(key: string): Promise<number | undefined> {
    const { sets, expectations } = this.#parts;
    const set = sets.getByKey(key);
    if (set === undefined) {
      expectations.forget(key);
      this.#ownWrites.forget(key);
      return undefined;
    }
    // The status records the revisions of pods. With an outdated status, passes would alternate between revisions.
    if (this.#ownWrites.isBehind(key, set.metadata.resourceVersion)) return undefined;
    const sorted = sortRevisions(await this.#claimRevisions(set));
    const mine = await this.#claimPods(set);
    const waitMs = expectations.waitMs(key);
    if (waitMs > 0) return waitMs;
    const { revisions, collisionCount } = await this.#histories.settle(set, sorted);
    const facts: SetFacts = {
      set,
      revisions,
      pods: mine,
      claimOf: this.#executor.lookup(set),
      nowMs: this.#options.clock.nowMs(),
    };
    const plan = planStatefulSet(facts);
    this.#remember(key, set, plan);
    const { updating, created, error } = await this.#executor.perform(set, plan);
    // This includes the pods of this pass, so that their appearance in the cache needs no further status write.
    const after = { ...facts, pods: [...mine, ...created] };
    await this.#writeStatus(key, set, computeSetStatus(after, collisionCount, updating));
    if (error !== undefined) throw error instanceof Error ? error : new Error(String(error));
    await this.#histories.forget(selectForgotten(set, sorted, mine, revisions));
    return nextAvailableMs(mine, set.spec.minReadySeconds ?? 0, facts.nowMs);
  }

  #remember(key: string, { metadata: { namespace } }: StatefulSet, plan: SetPlan): void {
    for (const name of plan.waitsForClaims) this.#waiting.set(formatKey({ namespace, name }), key);
  }

  async #claimRevisions(set: StatefulSet): Promise<ControllerRevision[]> {
    return await claimObjects({
      client: this.#options.client,
      ownerType: statefulSets,
      owner: set,
      selector: set.spec.selector,
      type: controllerRevisions,
      objects: this.#parts.unseenRevisions.with(set, this.#revisionIndex.claimable(set)),
    });
  }

  async #claimPods(set: StatefulSet): Promise<Pod[]> {
    return await claimObjects({
      client: this.#options.client,
      ownerType: statefulSets,
      owner: set,
      selector: set.spec.selector,
      type: pods,
      objects: this.#podIndex.claimable(set),
      isMember: (pod) => isMember(set, pod),
    });
  }

  async #writeStatus(key: string, set: StatefulSet, status: StatefulSetStatus): Promise<void> {
    if (isSameStatus(set.status, status)) return;
    try {
      await this.#options.client.update(statefulSets, { ...set, status }, { subresource: 'status' });
      this.#ownWrites.wroteOver(key, set.metadata.resourceVersion);
    } catch (error) {
      // Deleted or changed: the event triggers the next pass.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      if (this.#parts.sets.getByKey(key) === set) throw error;
    }
  }
}
