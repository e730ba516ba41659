import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { StatefulSet, StatefulSetStatus } from '../../../api/apps/stateful-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, persistentVolumeClaims, pods, statefulSets } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { claimObjects, ControlledIndex, decideClaim } from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { nextAvailableMs } from '../../controller-runtime/pod-facts.ts';
import { foldOfSet, restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import { isStepDue } from './is-step-due.ts';
import { SetExecutor } from './set-executor.ts';
import { selectForgotten, SetHistories, sortRevisions } from './set-history.ts';
import type { SetHistory } from './set-history.ts';
import { isMember } from './set-names.ts';
import { planStatefulSet } from './set-plan.ts';
import type { SetFacts, SetPlan } from './set-plan.ts';
import { revisionOf } from './set-pods.ts';
import { computeSetStatus, countSetPods, isSameStatus } from './set-status.ts';
import type { SetCounts } from './set-status.ts';
import { createSetTally } from './set-tally.ts';
import type { SetTally } from './set-tally.ts';

/** The number of concurrent syncs (upstream: --concurrent-statefulset-syncs). */
const WORKERS = 5;

interface Parts {
  readonly sets: Informer<StatefulSet>;
  readonly revisions: Informer<ControllerRevision>;
  readonly unseenRevisions: UnseenObjects<ControllerRevision>;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly expectations: Expectations;
  readonly tally: SetTally;
}

/** Maintains the numbered pods of each StatefulSet and their claims. */
export function createStatefulSetController(options: ControllerOptions): Controller {
  const { informers, clock } = options;
  const revisions = informers.for(controllerRevisions);
  const followed = {
    sets: informers.for(statefulSets),
    podInformer: informers.for(pods),
    claims: informers.for(persistentVolumeClaims),
  };
  const parts: Parts = {
    ...followed,
    revisions,
    unseenRevisions: new UnseenObjects(revisions, clock),
    expectations: new Expectations(clock),
    tally: createSetTally(followed),
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
      () => parts.tally.stop(),
    ],
  });
}

/** What a pass found before it reads pods. */
interface Pass extends SetHistory {
  readonly key: string;
  readonly set: StatefulSet;
  readonly sorted: readonly ControllerRevision[];
  readonly nowMs: number;
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
  /** The keys of sets whose last pass read all pods. */
  readonly #readWhole = new Set<string>();

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

  /**
   * Returns the pause between passes. A pass with steps reads every pod of the set. Other passes merge changes into one
   * status write.
   */
  restMs(key: string): number {
    const set = this.#parts.sets.getByKey(key);
    if (set === undefined) return 0;
    const count = this.#podIndex.countOf(set);
    return this.#readWhole.has(key) ? restOfSet(count) : foldOfSet(count);
  }

  async sync(key: string): Promise<number | undefined> {
    const { sets, expectations } = this.#parts;
    this.#readWhole.delete(key);
    const set = sets.getByKey(key);
    if (set === undefined) {
      expectations.forget(key);
      this.#ownWrites.forget(key);
      return undefined;
    }
    // The status records the revisions of pods. With an outdated status, passes would alternate between revisions.
    if (this.#ownWrites.isBehind(key, set.metadata.resourceVersion)) return undefined;
    const sorted = sortRevisions(await this.#claimRevisions(set));
    const claimed = this.#mustClaim(set) ? await this.#claimPods(set) : undefined;
    const waitMs = expectations.waitMs(key);
    if (waitMs > 0) return waitMs;
    const history = await this.#histories.settle(set, sorted);
    const pass: Pass = { key, set, sorted, nowMs: this.#options.clock.nowMs(), ...history };
    const members = this.#parts.tally.of(set, pass.nowMs);
    const outline = members.outline(set, history.revisions.update.name, pass.nowMs);
    if (claimed !== undefined || isStepDue(set, outline)) return await this.#execute(pass, claimed ?? this.#own(set));
    await this.#finish(pass, members.counts(history.revisions.current.name, history.revisions.update.name), members);
    return outline.nextAvailableMs;
  }

  /** Plans and performs the steps of a pass. */
  async #execute(pass: Pass, mine: readonly Pod[]): Promise<number | undefined> {
    const { key, set, revisions, nowMs } = pass;
    this.#readWhole.add(key);
    const facts: SetFacts = { set, revisions, pods: mine, claimOf: this.#executor.lookup(set), nowMs };
    const plan = planStatefulSet(facts);
    this.#remember(key, set, plan);
    const { updating, created, error } = await this.#executor.perform(set, plan);
    // This includes the pods of this pass, so that their appearance in the cache needs no further status write.
    const count = countSetPods({ ...facts, pods: [...mine, ...created] });
    await this.#finish(pass, count, { revisions: mine.map(revisionOf), updating, error });
    return nextAvailableMs(mine, set.spec.minReadySeconds ?? 0, nowMs);
  }

  /** Writes the status, and deletes revisions that are not used. */
  async #finish(
    { key, set, sorted, revisions, collisionCount }: Pass,
    count: SetCounts,
    done: { readonly revisions: Iterable<string>; readonly updating?: number; readonly error?: unknown },
  ): Promise<void> {
    const { updating = 0, error } = done;
    const inUse = [...done.revisions];
    await this.#writeStatus(key, set, computeSetStatus({ set, revisions }, count, { collisionCount, updating }));
    if (error !== undefined) throw error instanceof Error ? error : new Error(String(error));
    await this.#histories.forget(selectForgotten(set, sorted, inUse, revisions));
  }

  /** Whether pods must be adopted or released. */
  #mustClaim(set: StatefulSet): boolean {
    if (this.#parts.tally.of(set, this.#options.clock.nowMs()).strays > 0) return true;
    return this.#podIndex
      .orphans(set)
      .some((pod) => decideClaim(set, set.spec.selector, pod, isMember(set, pod)) === 'adopt');
  }

  #own(set: StatefulSet): Pod[] {
    return this.#podIndex
      .ofOwner(set)
      .filter((pod) => decideClaim(set, set.spec.selector, pod, isMember(set, pod)) === 'own');
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
