import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { SchedulingMetrics } from '../../controller-runtime/scheduling-metrics.ts';
import type { ClaimMetrics } from '../../controller-runtime/claim-metrics.ts';
import type { SchedulerCache } from '../cache/scheduler-cache.ts';
import type { LiveClusterObjects } from './live-cluster-objects.ts';
import type { Extender } from '../framework/extender.ts';
import type { SchedulerConfig } from '../config/scheduler-config.ts';
import type { SchedulingQueue } from '../queue/scheduling-queue.ts';
import type { WantedStatus } from './pod-status.ts';

export interface SaidOfPod {
  /** What the scheduler did or tried. */
  readonly action: 'Scheduling' | 'Binding' | 'Preempting';
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The dependencies that the executors share. */
export interface SchedulerContext {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly claimMetrics?: ClaimMetrics | undefined;
  readonly metrics?: SchedulingMetrics | undefined;
  readonly config: SchedulerConfig;
  /** The extenders, in configuration order. */
  readonly extenders: readonly Extender[];
  /** Aborts long waits when the scheduler stops. */
  readonly stopping: AbortSignal;
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly objects: LiveClusterObjects;
  readonly pods: Informer<Pod>;
  /** Records an event with the pod's scheduler as its source. */
  readonly tell: (about: Pod, schedulerName: string, said: SaidOfPod) => void;
  /**
   * Writes the pod's status soon. Several changes for one pod are merged, and the newest value of each field is used.
   */
  readonly setStatus: (pod: Pod, wanted: WantedStatus) => void;
}
