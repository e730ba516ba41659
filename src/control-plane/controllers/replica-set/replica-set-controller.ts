import type { ReplicaSet, ReplicaSetStatus } from '../../../api/apps/replica-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, replicaSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import {
  claimObjects,
  ControlledIndex,
  controllerRefOf,
  isControlledBy,
} from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { PodControl, podFromTemplate } from '../../controller-runtime/pod-control.ts';
import { isPodActive, isPodTerminating, nextAvailableMs } from '../../controller-runtime/pod-facts.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { slowStart } from '../../controller-runtime/slow-start.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { planReplicas } from './replica-set-plan.ts';
import { computeReplicaSetStatus, isSameStatus } from './replica-set-status.ts';

/** Upstream: --concurrent-replicaset-syncs. */
const WORKERS = 5;

/** Keeps as many pods as each ReplicaSet asks for. */
export function createReplicaSetController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const sets = informers.for(replicaSets);
  const podInformer = informers.for(pods);
  const expectations = new Expectations(clock);
  const syncer = new ReplicaSetSyncer(options, { sets, podInformer, expectations });
  const queue = new RateLimitingQueue({
    name: 'replicaset',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.sync(key),
  });
  const end = wakeOwners({ owners: sets, dependents: podInformer, expectations, add: (key) => queue.add(key) });
  return runController({
    name: 'replicaset controller',
    log,
    queues: [queue],
    informers: [sets, podInformer],
    ends: [end],
  });
}

interface Parts {
  readonly sets: Informer<ReplicaSet>;
  readonly podInformer: Informer<Pod>;
  readonly expectations: Expectations;
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
    const recorder = createEventRecorder({ ...options, component: 'replicaset-controller' });
    this.#podControl = new PodControl({
      client: options.client,
      recorder,
      informer: parts.podInformer,
      expectations: parts.expectations,
      type: replicaSets,
    });
    this.#podIndex = new ControlledIndex(parts.podInformer);
    this.#setIndex = new ControlledIndex(parts.sets);
  }

  async sync(key: string): Promise<number | undefined> {
    const { clock } = this.#options;
    const { sets, expectations } = this.#parts;
    const replicaSet = sets.getByKey(key);
    if (replicaSet === undefined) {
      expectations.forget(key);
      return undefined;
    }
    const waitMs = expectations.waitMs(key);
    const candidates = this.#podIndex.claimable(replicaSet);
    const active = await this.#claim(replicaSet, candidates.filter(isPodActive));
    const terminating = candidates.filter(
      (pod) =>
        isPodTerminating(pod) &&
        isControlledBy(pod, replicaSet) &&
        matchesLabelSelector(replicaSet.spec.selector, pod.metadata.labels ?? {}),
    );
    const failure = waitMs > 0 ? undefined : await this.#manage(key, replicaSet, active);
    const nowMs = clock.nowMs();
    await this.#writeStatus(replicaSet, computeReplicaSetStatus(replicaSet, { active, terminating, failure }, nowMs));
    if (failure !== undefined) throw failure;
    const availableMs = nextAvailableMs(active, replicaSet.spec.minReadySeconds ?? 0, nowMs);
    return waitMs > 0 ? Math.min(waitMs, availableMs ?? waitMs) : availableMs;
  }

  async #claim(replicaSet: ReplicaSet, objects: readonly Pod[]): Promise<Pod[]> {
    const { client } = this.#options;
    return await claimObjects({
      client,
      ownerType: replicaSets,
      owner: replicaSet,
      selector: replicaSet.spec.selector,
      type: pods,
      objects,
    });
  }

  /** What went wrong, if anything: it becomes a condition before it is tried again. */
  async #manage(key: string, replicaSet: ReplicaSet, active: readonly Pod[]): Promise<Error | undefined> {
    const plan = planReplicas(replicaSet, active, () => this.#related(replicaSet), this.#options.clock.nowMs());
    if (plan.kind === 'create') {
      const pod = podFromTemplate(replicaSets, replicaSet, replicaSet.spec.template);
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

  async #writeStatus(replicaSet: ReplicaSet, status: ReplicaSetStatus): Promise<void> {
    if (isSameStatus(replicaSet.status, status)) return;
    try {
      await this.#options.client.update(replicaSets, { ...replicaSet, status }, { subresource: 'status' });
    } catch (error) {
      // Gone, or changed: the change itself wakes this again.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      if (this.#parts.sets.get(keyOf(replicaSet)) !== replicaSet) return;
      throw error;
    }
  }
}

function asError(error: unknown): Error | undefined {
  return error === undefined || error instanceof Error ? error : new Error(String(error));
}
