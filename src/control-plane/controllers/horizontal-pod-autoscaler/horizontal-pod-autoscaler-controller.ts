import { errorMessage } from '../../../base/errors.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { Scale } from '../../../api/autoscaling/scale.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { horizontalPodAutoscalers, pods } from '../../../api/client/resource-types.ts';
import { withCondition } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { LabelMatcher } from '../../../api/label-requirement.ts';
import { formatLabelSelector, parseLabelSelector } from '../../../api/selectors.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import type { AutoscalerMetrics, ScalingAction } from '../../controller-runtime/autoscaler-metrics.ts';
import { evaluateMetric } from './evaluate-metric.ts';
import type { Evaluation } from './evaluate-metric.ts';
import type { MetricsSource } from './metrics-source.ts';
import { decideByCount, planByCount, planByMetrics, tolerancesOf } from './plan-autoscaler.ts';
import type { AutoscalerEvent, Conditions, PlanSettings, ScalingPlan } from './plan-autoscaler.ts';
import type { ReadinessSettings } from './pod-usage.ts';
import { findScaleTypes } from './scale-target.ts';
import { firstHistory, withScaleChange } from './scaling-history.ts';
import type { ScalingHistory } from './scaling-history.ts';

/** The number of concurrent syncs (upstream: --concurrent-horizontal-pod-autoscaler-syncs). */
const WORKERS = 5;
/** The longest period of a policy; older changes of the number are dropped. */
const LONGEST_PERIOD_MS = 1_800_000;
/** The time within which edits share a pass, so that the history stays small. */
const REST_MS = 1_000;

export interface AutoscalerSettings extends PlanSettings, ReadinessSettings {
  /** The interval at which each autoscaler reads its metrics. */
  readonly syncPeriodMs: number;
}

export interface AutoscalerOptions extends ControllerOptions {
  readonly metrics: MetricsSource;
  /** Returns all kinds, and which of them have a scale. */
  readonly types: () => readonly ResourceType[];
  readonly settings: AutoscalerSettings;
  readonly autoscalerMetrics?: AutoscalerMetrics;
}

/** Creates the controller that scales workloads by metrics. */
export function createHorizontalPodAutoscalerController(options: AutoscalerOptions): Controller {
  const { informers, clock, log } = options;
  const autoscalers = informers.for(horizontalPodAutoscalers);
  const podInformer = informers.for(pods);
  const syncer = new AutoscalerSyncer(options, autoscalers, podInformer);
  options.autoscalerMetrics?.listWith(() =>
    autoscalers.list().map(({ metadata: { namespace, name }, status }) => ({
      namespace,
      name,
      replicas: status?.desiredReplicas ?? 0,
    })),
  );
  const queue = new RateLimitingQueue({
    name: 'horizontalpodautoscaler',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.sync(key),
    restMs: () => REST_MS,
  });
  const wake = (autoscaler: HorizontalPodAutoscaler): void => queue.add(formatKey(keyOf(autoscaler)));
  const ends = [
    autoscalers.addHandlers({
      onAdd: wake,
      // Each pass changes the status, which must not cause another pass.
      onUpdate: (before, after) => {
        if (!semanticEqual(before.spec, after.spec)) wake(after);
      },
      onDelete: wake,
    }),
  ];
  return runController({
    name: 'horizontal pod autoscaler controller',
    log,
    queues: [queue],
    informers: [autoscalers, podInformer],
    ends,
  });
}

interface Target {
  readonly type: ResourceType<Scale>;
  readonly scale: Scale;
}

interface Selected {
  readonly selector: string;
  readonly pods: readonly Pod[];
}

class AutoscalerSyncer {
  readonly #options: AutoscalerOptions;
  readonly #autoscalers: Informer<HorizontalPodAutoscaler>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  readonly #ownWrites = new OwnWrites();
  readonly #histories = new Map<string, ScalingHistory>();
  /** The target selectors by namespace and name of the autoscaler. No pod may belong to two. */
  readonly #selectors = new Map<string, Map<string, LabelMatcher>>();

  constructor(options: AutoscalerOptions, autoscalers: Informer<HorizontalPodAutoscaler>, podInformer: Informer<Pod>) {
    this.#options = options;
    this.#autoscalers = autoscalers;
    this.#pods = podInformer;
    this.#recorder = createEventRecorder({ ...options, component: 'horizontal-pod-autoscaler' });
  }

  async sync(key: string): Promise<number | undefined> {
    const { settings, log } = this.#options;
    const autoscaler = this.#autoscalers.getByKey(key);
    if (autoscaler === undefined) {
      this.#forget(key);
      return undefined;
    }
    if (this.#ownWrites.isBehind(key, autoscaler.metadata.resourceVersion)) return REST_MS;
    const error = await this.#measured(key, autoscaler);
    if (error !== undefined) log.debug(2, 'Failed to reconcile', { autoscaler: key, error });
    return settings.syncPeriodMs;
  }

  #forget(key: string): void {
    this.#ownWrites.forget(key);
    this.#histories.delete(key);
    const [namespace = '', name = ''] = key.split('/');
    const others = this.#selectors.get(namespace);
    others?.delete(name);
    if (others?.size === 0) this.#selectors.delete(namespace);
  }

  async #measured(key: string, autoscaler: HorizontalPodAutoscaler): Promise<string | undefined> {
    const { clock, autoscalerMetrics } = this.#options;
    const beganMs = clock.monotonicMs();
    const noted: PassNotes = { action: 'none', isSpec: false };
    let isFailed = true;
    try {
      const error = await this.#reconcile(key, autoscaler, noted);
      isFailed = error !== undefined;
      return error;
    } finally {
      autoscalerMetrics?.reconciled({
        action: noted.action,
        error: !isFailed ? 'none' : noted.isSpec ? 'spec' : 'internal',
        durationMs: clock.monotonicMs() - beganMs,
      });
    }
  }

  /** Runs a pass. Returns the error, if any: the next attempt is the next regular pass. */
  async #reconcile(key: string, autoscaler: HorizontalPodAutoscaler, noted: PassNotes): Promise<string | undefined> {
    const { status } = autoscaler;
    const { clock } = this.#options;
    const target = await this.#readTarget(autoscaler);
    if (typeof target === 'string') {
      this.#say(autoscaler, { type: 'Warning', reason: 'FailedGetScale', message: target });
      const conditions = withCondition(
        status?.conditions,
        unableToScale('FailedGetScale', GET_FAILED, target),
        clock.nowMs(),
      );
      await this.#writeStatus(key, autoscaler, {
        ...status,
        desiredReplicas: status?.desiredReplicas ?? 0,
        conditions,
      });
      return target;
    }
    const currentReplicas = target.scale.spec.replicas ?? 0;
    const history = this.#histories.get(key) ?? firstHistory(currentReplicas, clock.nowMs());
    const plan = await this.#plan(autoscaler, target, history, noted);
    for (const event of plan.events) this.#say(autoscaler, event);
    this.#histories.set(key, plan.history);
    const { desiredReplicas } = plan;
    const counted = { currentReplicas, metrics: plan.metrics, conditions: plan.conditions };
    if (desiredReplicas === undefined || desiredReplicas === currentReplicas) {
      const shown = desiredReplicas ?? status?.desiredReplicas ?? 0;
      await this.#writeStatus(key, autoscaler, statusOf(status, { ...counted, desiredReplicas: shown }));
      return plan.error;
    }
    const failure = await this.#rescale(key, autoscaler, { target, plan, desiredReplicas });
    if (failure === undefined || failure === plan.error) noted.action = actionOf(currentReplicas, desiredReplicas);
    return failure;
  }

  async #rescale(
    key: string,
    autoscaler: HorizontalPodAutoscaler,
    {
      target,
      plan,
      desiredReplicas,
    }: { readonly target: Target; readonly plan: ScalingPlan; readonly desiredReplicas: number },
  ): Promise<string | undefined> {
    const { clock } = this.#options;
    const { status, spec } = autoscaler;
    const currentReplicas = target.scale.spec.replicas ?? 0;
    const failure = await this.#writeScale(target, desiredReplicas);
    const nowMs = clock.nowMs();
    const counted = { currentReplicas, metrics: plan.metrics };
    if (failure !== undefined) {
      const message = `New size: ${desiredReplicas}; reason: ${plan.reason}; error: ${failure}`;
      this.#say(autoscaler, { type: 'Warning', reason: 'FailedRescale', message });
      const conditions = withCondition(
        plan.conditions,
        unableToScale('FailedUpdateScale', UPDATE_FAILED, failure),
        nowMs,
      );
      const shown = status?.desiredReplicas ?? 0;
      await this.#writeStatus(key, autoscaler, statusOf(status, { ...counted, conditions, desiredReplicas: shown }));
      return failure;
    }
    const message = `New size: ${desiredReplicas}; reason: ${plan.reason}`;
    this.#say(autoscaler, { type: 'Normal', reason: 'SuccessfulRescale', message });
    if (spec.behavior !== undefined) {
      const change = { from: currentReplicas, to: desiredReplicas, atMs: nowMs };
      this.#histories.set(key, withScaleChange(plan.history, change, LONGEST_PERIOD_MS));
    }
    const conditions = withCondition(plan.conditions, rescaled(desiredReplicas), nowMs);
    const next = statusOf(status, { ...counted, conditions, desiredReplicas });
    await this.#writeStatus(key, autoscaler, { ...next, lastScaleTime: formatTime(nowMs) });
    return plan.error;
  }

  async #plan(
    autoscaler: HorizontalPodAutoscaler,
    target: Target,
    history: ScalingHistory,
    noted: PassNotes,
  ): Promise<ScalingPlan> {
    const { settings, clock, metrics } = this.#options;
    const { spec, metadata } = autoscaler;
    const nowMs = clock.nowMs();
    const currentReplicas = target.scale.spec.replicas ?? 0;
    const conditions = withCondition(autoscaler.status?.conditions, gotScale, nowMs);
    const facts = { autoscaler, conditions, currentReplicas, history, settings, nowMs };
    const decision = decideByCount(spec, currentReplicas);
    if (decision.kind !== 'measure') return planByCount(facts, decision);
    const selected = this.#select(autoscaler, target.scale.status?.selector ?? '');
    if ('reason' in selected) return unselected(facts, selected);
    const about = {
      namespace: metadata.namespace,
      statusReplicas: target.scale.status?.replicas ?? 0,
      podSelector: selected.selector,
      currentReplicas,
      pods: selected.pods,
      tolerances: tolerancesOf(spec, settings.tolerance),
      settings,
      nowMs,
    };
    const specs = spec.metrics ?? [];
    const evaluations = await Promise.all(
      specs.map((metric) =>
        this.#evaluated(metric.type, currentReplicas, () => evaluateMetric(metrics, about, metric)),
      ),
    );
    noted.isSpec = isSpecError(evaluations.find(({ kind }) => kind === 'failed'));
    return planByMetrics(facts, evaluations);
  }

  async #evaluated(
    metricType: string,
    currentReplicas: number,
    evaluate: () => Promise<Evaluation>,
  ): Promise<Evaluation> {
    const { clock, autoscalerMetrics } = this.#options;
    const beganMs = clock.monotonicMs();
    const found = await evaluate();
    autoscalerMetrics?.computed({
      metricType,
      action: found.kind === 'failed' ? 'none' : actionOf(currentReplicas, found.replicas),
      error: found.kind === 'proposed' ? 'none' : isSpecError(found) ? 'spec' : 'internal',
      durationMs: clock.monotonicMs() - beganMs,
    });
    return found;
  }

  /** Selects the pods of the target (upstream: validateAndParseSelector). */
  #select({ metadata }: HorizontalPodAutoscaler, text: string): Selected | NoSelector {
    if (text === '')
      return {
        event: 'SelectorRequired',
        reason: 'InvalidSelector',
        message: "the HPA target's scale is missing a selector",
        error: 'selector is required',
      };
    const requirements = parseLabelSelector(text);
    if (typeof requirements === 'string') {
      const error = `couldn't convert selector into a corresponding internal selector object: ${requirements}`;
      return { event: 'InvalidSelector', reason: 'InvalidSelector', message: error, error };
    }
    const matcher = compileRequirements(requirements);
    const matches = ({ metadata: { labels = {} } }: Pod): boolean => matcher.matches(labels);
    const mine = this.#pods.list(metadata.namespace).filter(matches);
    const here = this.#selectors.get(metadata.namespace) ?? new Map<string, LabelMatcher>();
    this.#selectors.set(metadata.namespace, here.set(metadata.name, matcher));
    const others = [...here].filter(
      ([name, other]) => name !== metadata.name && mine.some(({ metadata: { labels = {} } }) => other.matches(labels)),
    );
    if (others.length === 0) return { selector: formatLabelSelector(requirements), pods: mine };
    const names = [metadata.name, ...others.map(([name]) => name)].toSorted();
    const keys = names.map((name) => `${metadata.namespace}/${name}`).join(' ');
    const error = `pods by selector ${formatLabelSelector(requirements)} are controlled by multiple HPAs: [${keys}]`;
    return { event: 'AmbiguousSelector', reason: 'AmbiguousSelector', message: error, error };
  }

  /** Reads the target. A text is the error. */
  async #readTarget({ metadata, spec: { scaleTargetRef } }: HorizontalPodAutoscaler): Promise<Target | string> {
    const { client, types } = this.#options;
    const found = findScaleTypes(scaleTargetRef, types());
    if (typeof found === 'string') return found;
    const key = { namespace: metadata.namespace, name: scaleTargetRef.name };
    let failure: string | undefined;
    for (const type of found) {
      try {
        return { type, scale: await client.get(type, key, { subresource: 'scale' }) };
      } catch (error) {
        if (!isApiError(error)) throw error;
        failure ??= errorMessage(error);
      }
    }
    return failure ?? 'unrecognized resource';
  }

  /**
   * Writes the scale. Returns undefined on success. Concurrent changes of the workload's scale are overwritten, as in
   * upstream.
   */
  async #writeScale({ type, scale }: Target, replicas: number): Promise<string | undefined> {
    const { client } = this.#options;
    let current = scale;
    for (let left = CONFLICT_TRIES; ; left--) {
      try {
        await client.update(type, { ...current, spec: { ...current.spec, replicas } }, { subresource: 'scale' });
        return undefined;
      } catch (error) {
        if (!isApiError(error)) throw error;
        if (left === 1 || !isApiError(error, 'Conflict')) return errorMessage(error);
        current = await client.get(type, keyOf(scale), { subresource: 'scale' }).catch(() => current);
      }
    }
  }

  #say(autoscaler: HorizontalPodAutoscaler, event: AutoscalerEvent): void {
    this.#recorder.event(horizontalPodAutoscalers, autoscaler, event);
  }

  async #writeStatus(
    key: string,
    autoscaler: HorizontalPodAutoscaler,
    status: HorizontalPodAutoscalerStatus,
  ): Promise<void> {
    if (semanticEqual(autoscaler.status ?? {}, status)) return;
    try {
      await this.#options.client.update(horizontalPodAutoscalers, { ...autoscaler, status }, { subresource: 'status' });
    } catch (error) {
      if (!isApiError(error, 'Conflict', 'NotFound'))
        this.#say(autoscaler, { type: 'Warning', reason: 'FailedUpdateStatus', message: errorMessage(error) });
      throw error;
    }
    this.#ownWrites.wroteOver(key, autoscaler.metadata.resourceVersion);
  }
}

/** The number of attempts after a conflict (upstream: client-go's retry.DefaultRetry). */
const CONFLICT_TRIES = 5;
const GET_FAILED = "the HPA controller was unable to get the target's current scale";
const UPDATE_FAILED = 'the HPA controller was unable to update the target scale';

const gotScale = {
  type: 'AbleToScale' as const,
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
};

const unableToScale = (reason: string, what: string, why: string) => ({
  type: 'AbleToScale' as const,
  status: 'False',
  reason,
  message: `${what}: ${why}`,
});

const rescaled = (replicas: number) => ({
  type: 'AbleToScale' as const,
  status: 'True',
  reason: 'SucceededRescale',
  message: `the HPA controller was able to update the target scale to ${replicas}`,
});

/** The result of a pass, for metrics. */
interface PassNotes {
  action: ScalingAction;
  /** The autoscaler's spec is invalid. */
  isSpec: boolean;
}

/** Whether the error is in the autoscaler's spec (upstream: errSpec). */
const isSpecError = (evaluation: Evaluation | undefined): boolean =>
  evaluation?.kind === 'failed' && evaluation.reason === 'InvalidMetricSourceType';

const actionOf = (current: number, desired: number): ScalingAction =>
  desired > current ? 'scale_up' : desired < current ? 'scale_down' : 'none';

interface NoSelector {
  readonly event: string;
  readonly reason: string;
  readonly message: string;
  readonly error: string;
}

function unselected(
  {
    conditions,
    history,
    nowMs,
  }: { readonly conditions: Conditions; readonly history: ScalingHistory; readonly nowMs: number },
  { event, reason, message, error }: NoSelector,
): ScalingPlan {
  const inactive = { type: 'ScalingActive' as const, status: 'False', reason, message };
  return {
    conditions: withCondition(conditions, inactive, nowMs),
    events: [
      { type: 'Warning', reason: event, message: error },
      { type: 'Warning', reason: 'FailedComputeMetricsReplicas', message: error },
    ],
    metrics: [],
    history,
    desiredReplicas: undefined,
    reason: '',
    error,
  };
}

/** Computes the status (upstream: setStatus). */
function statusOf(
  before: HorizontalPodAutoscalerStatus | undefined,
  counted: {
    readonly currentReplicas: number;
    readonly desiredReplicas: number;
    readonly metrics: ScalingPlan['metrics'];
    readonly conditions: Conditions;
  },
): HorizontalPodAutoscalerStatus {
  const { currentReplicas, desiredReplicas, metrics, conditions } = counted;
  return {
    ...(before?.lastScaleTime !== undefined && { lastScaleTime: before.lastScaleTime }),
    currentReplicas,
    desiredReplicas,
    ...(metrics.length > 0 && { currentMetrics: [...metrics] }),
    conditions: [...conditions],
  };
}
