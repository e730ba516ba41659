import type { ReplicaSet, ReplicaSetStatus } from '../../../api/apps/replica-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { pods, replicaSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import {
  claimObjects,
  ControlledIndex,
  controllerRefOf,
  decideClaim,
  isControlledBy,
} from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { PodControl, podFromTemplate } from '../../controller-runtime/pod-control.ts';
import { isPodActive, isPodTerminating } from '../../controller-runtime/pod-facts.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { slowStart } from '../../controller-runtime/slow-start.ts';
import { foldOfSet, restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { countReplicas } from './replica-counts.ts';
import type { ReplicaCounts } from './replica-counts.ts';
import { planReplicas } from './replica-set-plan.ts';
import { computeReplicaSetStatus, isSameStatus } from './replica-set-status.ts';
import type { ReplicaSetFacts } from './replica-set-status.ts';
import { createReplicaTally } from './replica-tally.ts';
import type { ReplicaTally } from './replica-tally.ts';

/** The number of concurrent syncs (upstream: --concurrent-replicaset-syncs). */
const WORKERS = 5;

/** A kind with a number of replicas, viewed as ReplicaSets. */
export interface ReplicaKind {
  /** The name of its queue. */
  readonly name: string;
  /** The kind in owner references and events. */
  readonly type: ResourceType<ReplicaSet>;
  readonly sets: Informer<ReplicaSet>;
  /** Whether its status counts terminating pods. */
  readonly countsTerminating: boolean;
  writeStatus(set: ReplicaSet, status: ReplicaSetStatus): Promise<unknown>;
}

/** Maintains the desired number of pods of each ReplicaSet. */
export function createReplicaSetController(options: ControllerOptions): Controller {
  const { informers, client } = options;
  return createReplicaController(options, {
    name: 'replicaset',
    type: replicaSets,
    sets: informers.for(replicaSets),
    countsTerminating: true,
    writeStatus: (set, status) => client.update(replicaSets, { ...set, status }, { subresource: 'status' }),
  });
}

/** Creates the same controller for similar kinds. */
export function createReplicaController(options: ControllerOptions, kind: ReplicaKind): Controller {
  const { informers, clock } = options;
  const { name, sets } = kind;
  const podInformer = informers.for(pods);
  const expectations = new Expectations(clock);
  const tally = createReplicaTally(sets, podInformer);
  const syncer = new ReplicaSetSyncer(options, { kind, podInformer, expectations, tally });
  return createQueueController(options, {
    name,
    workers: WORKERS,
    syncer,
    informers: [sets, podInformer],
    follow: (add) => [wakeOwners({ owners: sets, dependents: podInformer, expectations, add }), () => tally.stop()],
  });
}

interface Parts {
  readonly kind: ReplicaKind;
  readonly podInformer: Informer<Pod>;
  readonly expectations: Expectations;
  readonly tally: ReplicaTally;
}

class ReplicaSetSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #podControl: PodControl<ReplicaSet>;
  readonly #podIndex: ControlledIndex<Pod>;
  readonly #setIndex: ControlledIndex<ReplicaSet>;

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    const recorder = createEventRecorder({ ...options, component: `${parts.kind.name}-controller` });
    this.#podControl = new PodControl({
      client: options.client,
      recorder,
      informer: parts.podInformer,
      expectations: parts.expectations,
      type: parts.kind.type,
    });
    this.#podIndex = new ControlledIndex(parts.podInformer);
    this.#setIndex = new ControlledIndex(parts.kind.sets);
  }

  /**
   * Returns the pause between passes. A pass that deletes pods reads every pod of the set; other passes merge changes
   * into one status write.
   */
  restMs(key: string): number {
    const set = this.#parts.kind.sets.getByKey(key);
    if (set === undefined) return 0;
    const count = this.#podIndex.countOf(set);
    return count > (set.spec.replicas ?? 1) ? restOfSet(count) : foldOfSet(count);
  }

  async sync(key: string): Promise<number | undefined> {
    const { clock } = this.#options;
    const { kind, expectations } = this.#parts;
    const replicaSet = kind.sets.getByKey(key);
    if (replicaSet === undefined) {
      expectations.forget(key);
      return undefined;
    }
    const waitMs = expectations.waitMs(key);
    const takenMs = clock.nowMs();
    const { counts, active } = await this.#take(replicaSet, takenMs);
    const failure = waitMs > 0 ? undefined : await this.#manage(key, replicaSet, counts.active, active);
    const nowMs = clock.nowMs();
    await this.#writeStatus(replicaSet, this.#statusOf(replicaSet, { counts, failure }, nowMs));
    if (failure !== undefined) throw failure;
    const nextAvailableMs =
      counts.nextAvailableMs === undefined ? undefined : Math.max(0, takenMs + counts.nextAvailableMs - nowMs);
    return waitMs > 0 ? Math.min(waitMs, nextAvailableMs ?? waitMs) : nextAvailableMs;
  }

  /** Returns the counts of the set's pods. Individual pods are read only for adoption and release, which are rare. */
  async #take(replicaSet: ReplicaSet, nowMs: number): Promise<{ counts: ReplicaCounts; active: () => readonly Pod[] }> {
    const { selector } = replicaSet.spec;
    const counts = this.#parts.tally.of(replicaSet, nowMs).read(replicaSet, nowMs);
    const isTaken = (pod: Pod): boolean => isPodActive(pod) && decideClaim(replicaSet, selector, pod) === 'adopt';
    const leaving = replicaSet.metadata.deletionTimestamp !== undefined;
    if (leaving || (counts.strays === 0 && !this.#podIndex.orphans(replicaSet).some(isTaken)))
      return {
        counts,
        active: () =>
          this.#podIndex
            .ofOwner(replicaSet)
            .filter((pod) => isPodActive(pod) && decideClaim(replicaSet, selector, pod) === 'own'),
      };
    const candidates = this.#podIndex.claimable(replicaSet);
    const claimed = await this.#claim(replicaSet, candidates.filter(isPodActive));
    const terminating = candidates.filter((pod) => isPodTerminating(pod) && isControlledBy(pod, replicaSet));
    return { counts: countReplicas(replicaSet, [...claimed, ...terminating], nowMs), active: () => claimed };
  }

  async #claim(replicaSet: ReplicaSet, objects: readonly Pod[]): Promise<Pod[]> {
    const { client } = this.#options;
    return await claimObjects({
      client,
      ownerType: this.#parts.kind.type,
      owner: replicaSet,
      selector: replicaSet.spec.selector,
      type: pods,
      objects,
    });
  }

  /** Manages the pods. Returns the error, if any; it becomes a condition before the retry. */
  async #manage(
    key: string,
    replicaSet: ReplicaSet,
    activeCount: number,
    active: () => readonly Pod[],
  ): Promise<Error | undefined> {
    const ranked = { active, related: () => this.#related(replicaSet) };
    const plan = planReplicas(replicaSet, activeCount, ranked, this.#options.clock.nowMs());
    if (plan.kind === 'create') {
      const pod = podFromTemplate(this.#parts.kind.type, replicaSet, replicaSet.spec.template);
      const { error } = await slowStart(plan.count, 1, () => this.#podControl.create(key, replicaSet, pod));
      return asError(error);
    }
    if (plan.kind === 'delete') {
      const results = await Promise.allSettled(plan.pods.map((pod) => this.#podControl.delete(key, replicaSet, pod)));
      return asError(results.find((result) => result.status === 'rejected')?.reason);
    }
    return undefined;
  }

  #related(replicaSet: ReplicaSet): Pod[] {
    const owner = controllerRefOf(replicaSet);
    const sets = owner === undefined ? [replicaSet] : this.#setIndex.ofUid(owner.uid);
    return sets.flatMap((each) => this.#podIndex.ofOwner(each));
  }

  #statusOf(replicaSet: ReplicaSet, facts: ReplicaSetFacts, nowMs: number): ReplicaSetStatus {
    const { terminatingReplicas, ...status } = computeReplicaSetStatus(replicaSet, facts, nowMs);
    return this.#parts.kind.countsTerminating && terminatingReplicas !== undefined
      ? { ...status, terminatingReplicas }
      : status;
  }

  async #writeStatus(replicaSet: ReplicaSet, status: ReplicaSetStatus): Promise<void> {
    if (isSameStatus(replicaSet.status, status)) return;
    try {
      await this.#parts.kind.writeStatus(replicaSet, status);
    } catch (error) {
      // The pod was deleted or changed, and that event triggers the next pass.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      if (this.#parts.kind.sets.get(keyOf(replicaSet)) !== replicaSet) return;
      throw error;
    }
  }
}

function asError(error: unknown): Error | undefined {
  return error === undefined || error instanceof Error ? error : new Error(String(error));
}
