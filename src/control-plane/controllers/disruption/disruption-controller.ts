import { isDeepStrictEqual } from 'node:util';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import {
  deployments,
  podDisruptionBudgets,
  pods,
  replicaSets,
  replicationControllers,
  statefulSets,
} from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../api/policy/pod-disruption-budget.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import { DISRUPTION_TARGET } from '../../../api/reasons.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { patchPodStatus } from '../../controller-runtime/disruption-target.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { LabelIndex, SelectorIndex } from '../../controller-runtime/label-index.ts';
import { foldOfSet } from '../../controller-runtime/rest-of-set.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { createBudgetTally } from './budget-tally.ts';
import type { BudgetCounts, BudgetTally } from './budget-tally.ts';
import {
  computeBudgetStatus,
  computeExpected,
  countHealthy,
  failedBudgetStatus,
  formatSelector,
  needsScale,
  selectDisrupted,
  staleDisruptionMs,
} from './budget-status.ts';
import { expectedScale } from './controller-scales.ts';
import type { ExpectedScale, ScaleSources } from './controller-scales.ts';

export interface DisruptionOptions extends ControllerOptions {
  readonly types: readonly ResourceType[];
}

/**
 * Computes how many pods of each budget may be evicted; the API grants evictions by this number (upstream: disruption
 * controller). A granted eviction counts immediately, before the pod is deleted. Upstream notices a change of scale
 * with the next change of a pod; here the change wakes the budget.
 */
export function createDisruptionController(options: DisruptionOptions): Controller {
  const { informers, clock, log, types } = options;
  const parts = {
    budgets: informers.for(podDisruptionBudgets),
    pods: informers.for(pods),
    deployments: informers.for(deployments),
    replicaSets: informers.for(replicaSets),
    statefulSets: informers.for(statefulSets),
    replicationControllers: informers.for(replicationControllers),
  };
  const selectors = new SelectorIndex(parts.budgets, 'selector', ({ spec }) => spec.selector);
  const selectable = new LabelIndex(parts.pods);
  const tally = createBudgetTally({ ...parts, selectable, selectors });
  const syncer = new BudgetSyncer(options, { ...parts, selectable, tally, sources: { ...parts, types } });
  const queue = new RateLimitingQueue({
    name: 'disruption',
    clock,
    log,
    workers: 1,
    sync: (key) => syncer.sync(key),
    restMs: (key) => syncer.restMs(key),
  });
  const stale = new RateLimitingQueue({
    name: 'stale-disruption',
    clock,
    log,
    workers: 1,
    sync: (key) => syncer.syncStale(key),
  });
  const wake = (budget: PodDisruptionBudget): void => queue.add(formatKey(keyOf(budget)));
  const wakeFor = (namespace: string, labels: Labels): void => {
    for (const budget of selectors.selecting(namespace, labels)) wake(budget);
  };
  const wakeForPod = (pod: Pod): void => {
    wakeFor(pod.metadata.namespace, pod.metadata.labels ?? {});
    syncer.reportShared(pod, selectors.selecting(pod.metadata.namespace, pod.metadata.labels));
  };
  const consider = (pod: Pod): void => {
    wakeForPod(pod);
    if (staleDisruptionMs(pod, clock.nowMs()) !== undefined) stale.add(formatKey(keyOf(pod)));
  };
  const ends = [
    () => tally.stop(),
    parts.budgets.addHandlers({ onAdd: wake, onUpdate: (_, after) => wake(after) }),
    parts.pods.addHandlers({
      onAdd: consider,
      onUpdate: (before, after) => {
        if (!changesBudgets(before, after)) return;
        if (before.metadata.labels !== after.metadata.labels)
          wakeFor(before.metadata.namespace, before.metadata.labels ?? {});
        consider(after);
      },
      onDelete: wakeForPod,
    }),
    ...[parts.deployments, parts.replicaSets, parts.statefulSets, parts.replicationControllers].map((informer) =>
      informer.addHandlers({
        onAdd: ({ metadata, spec }, initial) =>
          !initial && wakeFor(metadata.namespace, spec.template?.metadata.labels ?? {}),
        onUpdate: (before, { metadata, spec }) =>
          before.spec.replicas !== spec.replicas && wakeFor(metadata.namespace, spec.template?.metadata.labels ?? {}),
      }),
    ),
  ];
  const read = [
    parts.budgets,
    parts.pods,
    parts.deployments,
    parts.replicaSets,
    parts.statefulSets,
    parts.replicationControllers,
  ];
  return runController({ name: 'disruption controller', log, queues: [queue, stale], informers: read, ends });
}

function changesBudgets(before: Pod, after: Pod): boolean {
  return (
    before.metadata.labels !== after.metadata.labels ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    before.status?.conditions !== after.status?.conditions ||
    isPodReady(before) !== isPodReady(after) ||
    controllerRefOf(before)?.uid !== controllerRefOf(after)?.uid
  );
}

interface BudgetParts {
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly pods: Informer<Pod>;
  readonly selectable: LabelIndex<Pod>;
  readonly tally: BudgetTally;
  readonly sources: ScaleSources;
}

class BudgetSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: BudgetParts;
  readonly #recorder: EventRecorder;

  constructor(options: ControllerOptions, parts: BudgetParts) {
    this.#options = options;
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...options, component: 'controllermanager' });
  }

  /**
   * Returns the pause between passes. Pod events in this time are merged into one pass, so that a large budget is not
   * written for each of its pods.
   */
  restMs(key: string): number {
    const { budgets, selectable } = this.#parts;
    const budget = budgets.getByKey(key);
    if (budget === undefined) return 0;
    const { selector } = budget.spec;
    return foldOfSet(selectable.countAtMost(budget.metadata.namespace, selector));
  }

  async sync(key: string): Promise<number | undefined> {
    const budget = this.#parts.budgets.getByKey(key);
    if (budget === undefined) return undefined;
    const nowMs = this.#options.clock.nowMs();
    const counts = this.#parts.tally.of(budget, nowMs);
    if (counts.selected === 0) this.#report(budget, 'Normal', 'NoPods', 'No matching pods found');
    const scale = this.#scaleOf(budget, counts);
    if (scale.kind === 'unknown') {
      this.#report(
        budget,
        'Warning',
        'CalculateExpectedPodCountFailed',
        `Failed to calculate the number of expected pods: ${scale.why}`,
      );
      await this.#write(budget, failedBudgetStatus(budget, scale.why, nowMs));
      return undefined;
    }
    if (needsScale(budget) && counts.unmanaged > 0)
      this.#report(budget, 'Warning', 'UnmanagedPods', unmanagedMessage(budget));
    const granted = this.#granted(budget);
    const disrupted = selectDisrupted(budget, granted, nowMs);
    for (const pod of disrupted.notDeleted) {
      this.#recorder.event(pods, pod, {
        type: 'Warning',
        reason: 'NotDeleted',
        message: `Pod was expected by PDB ${key} to be deleted but it wasn't`,
      });
    }
    const facts = {
      ...computeExpected(budget, counts.selected, scale.scale),
      currentHealthy: counts.healthy - countHealthy(granted, {}) + countHealthy(granted, disrupted.pods),
      disruptedPods: disrupted.pods,
    };
    await this.#write(budget, computeBudgetStatus(budget, facts, nowMs));
    return disrupted.nextMs;
  }

  #scaleOf(budget: PodDisruptionBudget, { owners }: BudgetCounts): Exclude<ExpectedScale, { kind: 'missing' }> {
    if (!needsScale(budget)) return { kind: 'known', scale: 0 };
    const { namespace } = budget.metadata;
    const { selectable, sources } = this.#parts;
    const scale = expectedScale(namespace, owners, sources);
    if (scale.kind !== 'missing') return scale;
    const pod = selectable
      .select(namespace, budget.spec.selector)
      .find((each) => controllerRefOf(each)?.uid === scale.uid);
    return { kind: 'unknown', why: `found no controllers for pod "${pod?.metadata.name ?? ''}"` };
  }

  /** Returns the selected pods whose eviction was granted. */
  #granted({ metadata: { namespace }, spec, status }: PodDisruptionBudget): Pod[] {
    return Object.keys(status?.disruptedPods ?? {})
      .map((name) => this.#parts.pods.get({ namespace, name }))
      .filter((pod) => pod !== undefined)
      .filter(
        ({ metadata }) => spec.selector !== undefined && matchesLabelSelector(spec.selector, metadata.labels ?? {}),
      );
  }

  /** Removes the condition of a pod whose disruption did not happen. */
  async syncStale(key: string): Promise<number | undefined> {
    const pod = this.#parts.pods.getByKey(key);
    const { clock, client } = this.#options;
    const leftMs = pod === undefined ? undefined : staleDisruptionMs(pod, clock.nowMs());
    if (pod === undefined || leftMs === undefined || leftMs > 0) return leftMs;
    const condition = {
      type: DISRUPTION_TARGET,
      status: 'False',
      reason: null,
      message: null,
      lastTransitionTime: formatTime(clock.nowMs()),
    };
    try {
      await patchPodStatus(client, pod, { conditions: [condition] });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
    return undefined;
  }

  /** Writes the status only over the evaluated version, so that an eviction granted in the meantime is not lost. */
  async #write(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus): Promise<void> {
    if (isDeepStrictEqual(budget.status, status)) return;
    try {
      await this.#options.client.update(podDisruptionBudgets, { ...budget, status }, { subresource: 'status' });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  /** Reports a pod with several budgets: its eviction is refused (upstream: getPdbForPod). */
  reportShared(pod: Pod, budgets: Iterable<PodDisruptionBudget>): void {
    const [first, second] = [...budgets].map(({ metadata }) => metadata.name).sort();
    if (second === undefined) return;
    const { namespace, name } = pod.metadata;
    this.#recorder.event(pods, pod, {
      type: 'Warning',
      reason: 'MultiplePodDisruptionBudgets',
      message: `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${first}" arbitrarily.`,
    });
  }

  #report(budget: PodDisruptionBudget, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#recorder.event(podDisruptionBudgets, budget, { type, reason, message });
  }
}

function unmanagedMessage(budget: PodDisruptionBudget): string {
  const selector = formatSelector(budget);
  const first = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged.`;
  return `${first} As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
}
