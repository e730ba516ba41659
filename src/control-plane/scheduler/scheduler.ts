import type { Clock, Timer } from '../../base/clock.ts';
import { inBackground } from '../../base/background.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { KeyedWorkers } from '../../base/keyed-workers.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import type { Informers } from '../../api/client/informer.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import type { ObjectKey } from '../../api/client/resource-type.ts';
import { nodes, pods } from '../../api/client/resource-types.ts';
import type { Pod } from '../../api/core/pod.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { ClaimMetrics } from '../controller-runtime/claim-metrics.ts';
import type { SchedulingMetrics } from '../controller-runtime/scheduling-metrics.ts';
import { createEventRecorder } from '../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../controller-runtime/event-recorder.ts';
import { SchedulerCache } from './cache/scheduler-cache.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import { schedulePod } from './decide/schedule-pod.ts';
import type { Decision } from './decide/schedule-pod.ts';
import { HttpExtender } from './extenders/http-extender.ts';
import type { AskExtender, Extender } from './framework/extender.ts';
import { podInfoOf } from './framework/pod-info.ts';
import type { Rejection } from './framework/rejection.ts';
import { SchedulingQueue } from './queue/scheduling-queue.ts';
import type { SchedulerContext } from './run/context.ts';
import { followCluster } from './run/event-handlers.ts';
import { createLimiter } from '../../base/limiter.ts';
import { LiveClusterObjects } from './run/live-cluster-objects.ts';
import { computeStatusPatch, foldStatus } from './run/pod-status.ts';
import type { WantedStatus } from './run/pod-status.ts';
import { Preemptions } from './run/preempt.ts';
import { SchedulingCycle } from './run/schedule-next.ts';

export interface SchedulerOptions {
  readonly client: ApiClient;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly claimMetrics?: ClaimMetrics;
  readonly metrics?: SchedulingMetrics;
  /** The result of `defaultSchedulerConfig()` or of `readSchedulerConfig`. */
  readonly config: SchedulerConfig;
  /** Sends requests to extenders. A configuration with extenders requires it. */
  readonly askExtender?: AskExtender;
}

/** Explains to users why a pod waits: what keeps it out of the queue, or the result that an attempt would have now. */
export type Explanation =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'assigned'; readonly nodeName: string }
  | { readonly kind: 'gated'; readonly rejection: Rejection }
  | { readonly kind: 'decision'; readonly decision: Decision };

export interface Scheduler {
  start(): void;
  /**
   * Stops scheduling and resolves when all running binds are done. The process may also be killed: a bind is a single
   * request.
   */
  stop(): Promise<void>;
  explain(key: ObjectKey): Explanation;
  /** Returns the number of pods in each part of the queue. */
  counts(): SchedulingQueue['counts'];
}

/**
 * The number of concurrent binds and status writes. It hides the latency of a distant API server without overloading a
 * near one.
 */
const WRITES_AT_ONCE = 32;
/** After this time, or this number of steps, other work on the thread gets its turn. */
const TURN_MS = 4;
const TURN_PODS = 32;

/** The scheduler: it assigns nodes to pods (upstream: cmd/kube-scheduler, pkg/scheduler). */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { client, informers, clock, random, log, config } = options;
  const podInformer = informers.for(pods);
  const nodeInformer = informers.for(nodes);
  const objects = new LiveClusterObjects(informers);
  const preemptions = new Preemptions();
  const pump = createPump(clock, () => cycle.runOne());
  const queue = new SchedulingQueue({
    ...config,
    clock,
    heldBack: (pod) => preemptions.heldBack(pod),
    onReady: pump.wake,
  });
  const stopping = new AbortController();
  const context: SchedulerContext = {
    ...{ client, clock, random, log, config, queue, objects, stopping: stopping.signal },
    cache: new SchedulerCache(objects),
    extenders: createExtenders(options),
    pods: podInformer,
    claimMetrics: options.claimMetrics,
    metrics: options.metrics,
    tell: createEventWriter(options),
    setStatus: createStatusWriter(options),
  };
  const cycle = new SchedulingCycle({ context, preemptions, limit: createLimiter(WRITES_AT_ONCE) });
  let state: 'idle' | 'started' | 'stopped' = 'idle';
  let unfollow: () => void = () => {};
  const begin = async (): Promise<void> => {
    unfollow = followCluster(context, informers);
    // Decisions need the complete lists: otherwise pods would be placed on nodes that are full.
    await Promise.all([podInformer.whenSynced(), nodeInformer.whenSynced(), objects.whenSynced()]);
    if (state === 'started') pump.open();
  };
  return {
    start: () => {
      if (state !== 'idle') return;
      state = 'started';
      inBackground(log, 'start scheduler', begin());
    },
    stop: async () => {
      state = 'stopped';
      pump.close();
      stopping.abort();
      unfollow();
      // A bind that fails now still puts its pod back into the queue.
      await cycle.whenIdle();
      queue.stop();
    },
    explain: (key) => explain(context, key),
    counts: () => queue.counts,
  };
}

function createExtenders({ config, askExtender, clock }: SchedulerOptions): readonly Extender[] {
  return config.extenders.map((settings) => {
    if (askExtender === undefined)
      throw new KubeletError('Invalid', 'extenders are configured, but this scheduler has no client for them');
    return new HttpExtender(settings, { ask: askExtender, clock });
  });
}

function explain({ pods: informer, queue, cache, config, random }: SchedulerContext, key: ObjectKey): Explanation {
  const pod = informer.get(key);
  const profile = config.profiles.get(pod?.spec.schedulerName ?? '');
  if (pod === undefined || profile === undefined) return { kind: 'unknown' };
  const nodeName = cache.placedPod(pod.metadata.uid)?.spec.nodeName ?? '';
  if (nodeName !== '') return { kind: 'assigned', nodeName };
  const rejection = queue.gatedBy(pod.metadata.uid);
  return rejection === undefined
    ? { kind: 'decision', decision: schedulePod(cache, podInfoOf(pod), profile, { start: 0, random }) }
    : { kind: 'gated', rejection };
}

interface Pump {
  readonly wake: () => void;
  open(): void;
  close(): void;
}

/**
 * Runs `step` until it returns false, and yields the thread in between. A step that returns a promise is awaited before
 * the next one. Steps never reject.
 */
function createPump(clock: Clock, step: () => boolean | Promise<void>): Pump {
  let state: 'closed' | 'open' | 'waiting' = 'closed';
  let timer: Timer | undefined;
  const wake = (): void => {
    if (state === 'open') timer ??= clock.setTimer(0, turn);
  };
  const resume = (): void => {
    if (state === 'waiting') state = 'open';
    wake();
  };
  const turn = (): void => {
    timer = undefined;
    const endMs = clock.monotonicMs() + TURN_MS;
    for (let count = 0; count < TURN_PODS && clock.monotonicMs() <= endMs; count++) {
      if (state !== 'open') return;
      const went = step();
      if (went === false) return;
      if (went === true) continue;
      state = 'waiting';
      void went.then(resume);
      return;
    }
    wake();
  };
  return {
    wake,
    open: () => {
      state = 'open';
      wake();
    },
    close: () => {
      state = 'closed';
      timer?.cancel();
      timer = undefined;
    },
  };
}

/** Creates one event recorder for each scheduler name. */
function createEventWriter({ client, clock, log }: SchedulerOptions): SchedulerContext['tell'] {
  const recorders = new Map<string, EventRecorder>();
  return (about, schedulerName, said) => {
    let recorder = recorders.get(schedulerName);
    if (recorder === undefined) {
      recorder = createEventRecorder({ client, clock, log, component: schedulerName });
      recorders.set(schedulerName, recorder);
    }
    recorder.event(pods, about, said);
  };
}

/** Writes pod statuses, one write at a time for each pod. It compares each change with the newest known object. */
function createStatusWriter({ client, clock, log, informers }: SchedulerOptions): SchedulerContext['setStatus'] {
  interface StatusWrite {
    readonly pod: Pod;
    readonly wanted: WantedStatus;
  }
  const limit = createLimiter(WRITES_AT_ONCE);
  const informer = informers.for(pods);
  const write = async ({ pod, wanted }: StatusWrite): Promise<void> => {
    const known = informer.get(keyOf(pod));
    if (known === undefined || known.metadata.uid !== pod.metadata.uid) return;
    const patch = computeStatusPatch(known, wanted, clock.nowMs());
    if (patch !== undefined) await client.patch(pods, keyOf(known), patch, { subresource: 'status' });
  };
  const writers = new KeyedWorkers<string, StatusWrite>({
    run: (_uid, next) => limit(() => write(next)),
    fold: (earlier, later) => ({ pod: later.pod, wanted: foldStatus(earlier.wanted, later.wanted) }),
    // The next attempt repeats the write.
    onError: (uid, error) => {
      if (!isApiError(error, 'NotFound', 'Conflict'))
        log.warn('Unable to write the status of a pod', { uid, error: errorMessage(error) });
    },
  });
  return (pod, wanted) => writers.submit(pod.metadata.uid, { pod, wanted });
}
