import { errorMessage } from '../../../base/errors.ts';
import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { deployments, pods, replicaSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import {
  claimObjects,
  ControlledIndex,
  controllerRefOf,
  isControlledBy,
} from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { isNamespaceTerminating } from '../../controller-runtime/pod-control.ts';
import { sameTemplate } from '../../controller-runtime/pod-template.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import { deploymentAnnotations, isRollingUpdate, sizeOf, TEMPLATE_HASH_LABEL } from './deployment-facts.ts';
import { planDeployment } from './deployment-plan.ts';
import type { DeploymentPlan, DeploymentStep } from './deployment-plan.ts';
import { computeDeploymentStatus, isSameStatus, progressCheckMs } from './deployment-status.ts';
import type { DeploymentFacts, NewSetEvent } from './deployment-status.ts';

/** The number of concurrent syncs (upstream: --concurrent-deployment-syncs). */
const WORKERS = 5;

/** Rolls the ReplicaSets of each Deployment from one template to the next. */
export function createDeploymentController(options: ControllerOptions): Controller {
  const { informers, clock } = options;
  const sets = informers.for(replicaSets);
  const parts: Parts = {
    all: informers.for(deployments),
    sets,
    unseenSets: new UnseenObjects(sets, clock),
    podInformer: informers.for(pods),
  };
  const syncer = new DeploymentSyncer(options, parts);
  return createQueueController(options, {
    name: 'deployment',
    workers: WORKERS,
    syncer,
    informers: [parts.all, sets, parts.podInformer],
    follow: (add) => [
      parts.unseenSets.observe(),
      wakeOwners({ owners: parts.all, dependents: sets, add }),
      wakeRecreates(parts, add),
    ],
  });
}

interface Parts {
  readonly all: Informer<Deployment>;
  readonly sets: Informer<ReplicaSet>;
  readonly unseenSets: UnseenObjects<ReplicaSet>;
  readonly podInformer: Informer<Pod>;
}

/** Wakes deployments by pod events. These matter only to a deployment that waits for its old pods to end. */
function wakeRecreates({ all, sets, podInformer }: Parts, add: (key: string) => void): () => void {
  const ended = (pod: Pod): void => {
    const setRef = controllerRefOf(pod);
    const { namespace } = pod.metadata;
    const set = setRef?.kind === replicaSets.kind ? sets.get({ namespace, name: setRef.name }) : undefined;
    const ref = set === undefined ? undefined : controllerRefOf(set);
    const deployment = ref?.kind === deployments.kind ? all.get({ namespace, name: ref.name }) : undefined;
    if (deployment !== undefined && !isRollingUpdate(deployment)) add(formatKey(keyOf(deployment)));
  };
  return podInformer.addHandlers({
    onDelete: ended,
    onUpdate: (before, after) => (isTerminalPod(after) && !isTerminalPod(before) ? ended(after) : undefined),
  });
}

/** The result of the steps. */
interface Outcome {
  readonly sets: readonly ReplicaSet[];
  readonly newSet: ReplicaSet | undefined;
  readonly newSetEvent?: NewSetEvent;
  readonly collisionCount?: number;
  /** The error, which is thrown after the status has been written. */
  readonly failure?: unknown;
}

class DeploymentSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #recorder: EventRecorder;
  readonly #setIndex: ControlledIndex<ReplicaSet>;
  readonly #podIndex: ControlledIndex<Pod>;

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...options, component: 'deployment-controller' });
    this.#setIndex = new ControlledIndex(parts.sets);
    this.#podIndex = new ControlledIndex(parts.podInformer);
  }

  async sync(key: string): Promise<number | undefined> {
    const deployment = this.#parts.all.getByKey(key);
    if (deployment === undefined) return undefined;
    if (isEverything(deployment)) return await this.#refuse(deployment);
    const { client, clock } = this.#options;
    const objects = this.#parts.unseenSets.with(deployment, this.#setIndex.claimable(deployment));
    const sets = await claimObjects({
      client,
      ownerType: deployments,
      owner: deployment,
      selector: deployment.spec.selector,
      type: replicaSets,
      objects,
    });
    const newHash = (set: ReplicaSet): boolean =>
      sameTemplate(set.spec.template, deployment.spec.template, TEMPLATE_HASH_LABEL);
    const oldPodsRunning = !isRollingUpdate(deployment) && this.#hasRunningPods(sets.filter((set) => !newHash(set)));
    const plan = planDeployment(deployment, sets, oldPodsRunning);
    const outcome = await this.#perform(deployment, sets, plan);
    const judgesProgress = plan.judgesProgress && outcome.failure === undefined;
    const facts: DeploymentFacts = {
      newSetEvent: undefined,
      collisionCount: deployment.status?.collisionCount,
      ...outcome,
      judgesProgress,
    };
    const nowMs = clock.nowMs();
    const status = computeDeploymentStatus(deployment, facts, nowMs);
    await this.#write(deployment, status, outcome.newSet);
    if (outcome.failure !== undefined) throw outcome.failure;
    return progressCheckMs(deployment, status, nowMs);
  }

  async #refuse(deployment: Deployment): Promise<undefined> {
    const message = 'This deployment is selecting all pods. A non-empty selector is required.';
    this.#recorder.event(deployments, deployment, { type: 'Warning', reason: 'SelectingAll', message });
    const { generation = 0 } = deployment.metadata;
    if ((deployment.status?.observedGeneration ?? 0) >= generation) return;
    await this.#options.client.update(
      deployments,
      { ...deployment, status: { ...deployment.status, observedGeneration: generation } },
      { subresource: 'status' },
    );
  }

  /**
   * Whether pods have not ended, including terminating ones, or the set still counts pods that are not in the cache.
   */
  #hasRunningPods(oldSets: readonly ReplicaSet[]): boolean {
    return oldSets.some(
      (set) => (set.status?.replicas ?? 0) > 0 || this.#podIndex.ofOwner(set).some((pod) => !isTerminalPod(pod)),
    );
  }

  async #perform(deployment: Deployment, sets: readonly ReplicaSet[], plan: DeploymentPlan): Promise<Outcome> {
    const now = new Map(sets.map((set) => [set.metadata.uid, set]));
    let newUid = plan.newSet?.metadata.uid;
    let newSetEvent: NewSetEvent | undefined;
    const outcome = (more: Partial<Outcome> = {}): Outcome => ({
      sets: [...now.values()],
      newSet: now.get(newUid ?? ''),
      ...(newSetEvent !== undefined && { newSetEvent }),
      ...more,
    });
    for (const step of plan.steps) {
      if (step.kind === 'create') {
        const made = await this.#create(deployment, step.set);
        if (made.kind === 'collision')
          return outcome({ collisionCount: (deployment.status?.collisionCount ?? 0) + 1, failure: made.failure });
        if (made.kind === 'failed') {
          newSetEvent = { kind: 'failed', message: made.message };
          return outcome({ failure: made.failure });
        }
        newUid = made.set.metadata.uid;
        this.#parts.unseenSets.made(deployment, made.set);
        now.set(newUid, made.set);
        if (made.kind === 'created') newSetEvent = { kind: 'created' };
      } else {
        const set = await this.#apply(deployment, step);
        if (set === undefined) now.delete(step.set.metadata.uid);
        else now.set(set.metadata.uid, set);
      }
    }
    return outcome();
  }

  async #create(
    deployment: Deployment,
    set: ReplicaSet,
  ): Promise<
    | { kind: 'created' | 'known'; set: ReplicaSet }
    | { kind: 'collision'; failure: unknown }
    | { kind: 'failed'; message: string; failure: unknown }
  > {
    const { client } = this.#options;
    try {
      const created = await client.create(replicaSets, set);
      if (sizeOf(created) > 0) this.#reportScaled(deployment, created, 0);
      return { kind: 'created', set: created };
    } catch (error) {
      if (isNamespaceTerminating(error)) throw error;
      if (isApiError(error, 'AlreadyExists')) {
        // The cache was outdated, or another template has the same hash.
        const known = await client.get(replicaSets, keyOf(set));
        const isOurs =
          isControlledBy(known, deployment) &&
          sameTemplate(known.spec.template, deployment.spec.template, TEMPLATE_HASH_LABEL);
        return isOurs ? { kind: 'known', set: known } : { kind: 'collision', failure: error };
      }
      const message = `Failed to create new replica set ${JSON.stringify(set.metadata.name)}: ${errorMessage(error)}`;
      this.#recorder.event(deployments, deployment, { type: 'Warning', reason: 'ReplicaSetCreateError', message });
      return { kind: 'failed', message, failure: error };
    }
  }

  /** Applies a step. Returns the current set, or undefined if it was deleted. */
  async #apply(
    deployment: Deployment,
    step: Exclude<DeploymentStep, { kind: 'create' }>,
  ): Promise<ReplicaSet | undefined> {
    const { client } = this.#options;
    if (step.kind === 'update') {
      const updated = await client.update(replicaSets, step.set);
      if (sizeOf(step.before) !== sizeOf(step.set)) this.#reportScaled(deployment, updated, sizeOf(step.before));
      return updated;
    }
    const { uid, resourceVersion } = step.set.metadata;
    try {
      await client.delete(replicaSets, keyOf(step.set), {
        propagationPolicy: 'Background',
        preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
      });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  #reportScaled(deployment: Deployment, set: ReplicaSet, from: number): void {
    const to = sizeOf(set);
    const message = `Scaled ${from < to ? 'up' : 'down'} replica set ${set.metadata.name} from ${from} to ${to}`;
    this.#recorder.event(deployments, deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message });
  }

  /** Writes the status and, in the same request as upstream, the revision of the newest set. */
  async #write(
    deployment: Deployment,
    status: NonNullable<Deployment['status']>,
    newSet: ReplicaSet | undefined,
  ): Promise<void> {
    const { annotations = {} } = deployment.metadata;
    const revision = newSet?.metadata.annotations?.[deploymentAnnotations.revision];
    const knows = revision === undefined || annotations[deploymentAnnotations.revision] === revision;
    if (knows && isSameStatus(deployment.status, status)) return;
    const metadata = knows
      ? deployment.metadata
      : { ...deployment.metadata, annotations: { ...annotations, [deploymentAnnotations.revision]: revision } };
    await this.#options.client.update(deployments, { ...deployment, metadata, status }, { subresource: 'status' });
  }
}

function isEverything({ spec }: Deployment): boolean {
  return (
    Object.keys(spec.selector.matchLabels ?? {}).length === 0 && (spec.selector.matchExpressions ?? []).length === 0
  );
}
