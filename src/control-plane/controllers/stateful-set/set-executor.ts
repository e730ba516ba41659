import { errorMessage } from '../../../base/errors.ts';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { persistentVolumeClaims, pods, statefulSets } from '../../../api/client/resource-types.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { Expectations } from '../../controller-runtime/expectations.ts';
import { PodControl } from '../../controller-runtime/pod-control.ts';
import { slowStart } from '../../controller-runtime/slow-start.ts';
import { buildClaims, hasOtherController, outdatedClaims, withWantedOwners } from './set-claims.ts';
import type { ClaimLookup } from './set-claims.ts';
import { isOrdered } from './set-plan.ts';
import type { SetPlan, SetStep } from './set-plan.ts';
import { isConsistent, repairedPod } from './set-pods.ts';

export interface SetExecutorOptions {
  readonly client: ApiClient;
  readonly recorder: EventRecorder;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly expectations: Expectations;
}

export interface Performed {
  /** The number of pods deleted for the update. */
  readonly updating: number;
  /** The created pods that the cache may not show yet. */
  readonly created: readonly Pod[];
  /** The first error. */
  readonly error?: unknown;
}

/** Executes a plan. Every step may be repeated. */
export class SetExecutor {
  readonly #options: SetExecutorOptions;
  readonly #podControl: PodControl<StatefulSet>;

  constructor(options: SetExecutorOptions) {
    this.#options = options;
    this.#podControl = new PodControl({
      client: options.client,
      recorder: options.recorder,
      informer: options.podInformer,
      expectations: options.expectations,
      type: statefulSets,
      say: sayOfPod,
    });
  }

  async perform(set: StatefulSet, plan: SetPlan): Promise<Performed> {
    let updating = 0;
    const created: Pod[] = [];
    for (const steps of plan.groups) {
      const run = async (index: number): Promise<void> => {
        const step = steps[index];
        if (step === undefined) return;
        await this.#step(set, step, (pod) => created.push(pod));
        if (step.isUpdate === true) updating++;
      };
      const { error } = isOrdered(set) ? await inOrder(steps.length, run) : await slowStart(steps.length, 1, run);
      if (error !== undefined) return { updating, created, error };
    }
    return { updating, created };
  }

  /** Returns the look-up of the set's claims in the cache. */
  lookup({ metadata: { namespace } }: StatefulSet): ClaimLookup {
    return (name) => this.#options.claims.get({ namespace, name });
  }

  async #step(set: StatefulSet, { kind, pod }: SetStep, onCreated: (pod: Pod) => void): Promise<void> {
    switch (kind) {
      case 'create':
        return await this.#create(set, pod, onCreated);
      case 'delete':
        return await this.#podControl.delete(formatKey(keyOf(set)), set, pod);
      case 'claims':
        return await this.#reporting(set, pod, () => this.#makeClaims(set, pod));
      case 'retain':
        return await this.#reporting(set, pod, () => this.#retain(set, pod));
      case 'repair':
        return await this.#repair(set, pod);
    }
  }

  async #create(set: StatefulSet, pod: Pod, onCreated: (pod: Pod) => void): Promise<void> {
    try {
      await this.#makeClaims(set, pod);
    } catch (error) {
      this.#say(set, 'FailedCreate', sayOfPod('create', set, pod, error));
      throw error;
    }
    const created = await this.#podControl.create(formatKey(keyOf(set)), set, pod);
    if (created === undefined) return;
    onCreated(created);
    await this.#retain(set, created);
  }

  /** Creates the missing claims of a pod (upstream: createPersistentVolumeClaims). */
  async #makeClaims(set: StatefulSet, pod: Pod): Promise<void> {
    const lookup = this.lookup(set);
    const failures: string[] = [];
    for (const claim of buildClaims(set, pod)) {
      const { name } = claim.metadata;
      const known = lookup(name);
      if (known?.metadata.deletionTimestamp !== undefined) failures.push(`pvc ${name} is being deleted`);
      if (known !== undefined) continue;
      try {
        await this.#options.client.create(persistentVolumeClaims, claim);
        this.#say(
          set,
          'SuccessfulCreate',
          `Create Claim ${name} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} success`,
        );
      } catch (error) {
        if (isApiError(error, 'AlreadyExists')) continue;
        const why = errorMessage(error);
        failures.push(`failed to create PVC ${name}: ${why}`);
        this.#say(
          set,
          'FailedCreate',
          `Create Claim ${name} for Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} failed error: ${why}`,
        );
      }
    }
    if (failures.length > 0) throw new ClaimError(failures.length === 1 ? failures.join() : `[${failures.join(', ')}]`);
  }

  async #retain(set: StatefulSet, pod: Pod): Promise<void> {
    for (const claim of outdatedClaims(set, pod, this.lookup(set))) {
      if (hasOtherController(set, pod, claim))
        this.#say(
          set,
          'ConflictingController',
          `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`,
        );
      await this.#options.client.update(persistentVolumeClaims, withWantedOwners(set, pod, claim));
    }
  }

  async #repair(set: StatefulSet, pod: Pod): Promise<void> {
    await this.#reporting(set, pod, async () => {
      await this.#makeClaims(set, pod);
      await this.#retain(set, pod);
      if (!isConsistent(set, pod)) await this.#options.client.update(pods, repairedPod(set, pod));
    });
    this.#say(
      set,
      'SuccessfulUpdate',
      `Update Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`,
    );
  }

  async #reporting(set: StatefulSet, pod: Pod, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isApiError(error, 'Conflict'))
        this.#say(
          set,
          'FailedUpdate',
          `Update Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} failed error: ${errorMessage(error)}`,
        );
      throw error;
    }
  }

  #say(set: StatefulSet, reason: string, message: string): void {
    const type = reason.startsWith('Successful') ? 'Normal' : 'Warning';
    this.#options.recorder.event(statefulSets, set, { type, reason, message });
  }
}

/** The error that a claim is not available yet. */
class ClaimError extends Error {}

async function inOrder(count: number, work: (index: number) => Promise<void>): Promise<{ readonly error?: unknown }> {
  for (let index = 0; index < count; index++) {
    try {
      await work(index);
    } catch (error) {
      return { error };
    }
  }
  return {};
}

function sayOfPod(done: 'create' | 'delete', set: StatefulSet, pod: Pod, error: unknown): string {
  const what = `${done === 'create' ? 'Create' : 'Delete'} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
  return error === undefined ? `${what} successful` : `${what} failed error: ${errorMessage(error)}`;
}
