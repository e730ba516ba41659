import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod } from '../../../api/pod.ts';
import type { ContainerState, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { AgentMetrics } from './agent-metrics.ts';

export interface CountedWorker {
  readonly lifecycle: 'sync' | 'terminating' | 'terminated';
  /** The pod; undefined if only the runtime knows it. */
  readonly pod: Pod | undefined;
  /** Whether its source still wants it. */
  readonly desired: boolean;
}

export interface PodCountFacts {
  readonly runtimePods: Iterable<PodRuntimeStatus>;
  readonly desired: readonly Pod[];
  readonly active: readonly Pod[];
  /** The number of mirror pods in the API server, including those whose static pod is removed. */
  readonly mirrors: number;
  readonly workers: Iterable<CountedWorker>;
}

/** Returns the label of static pods. As upstream, it is empty for pods of the API server. */
export const staticLabel = (pod: Pod): string => (isStaticPod(pod) ? 'true' : '');

/** Counts the current pods and containers. */
export function countPods(
  { main }: Pick<AgentMetrics, 'main'>,
  { runtimePods, desired, active, mirrors, workers }: PodCountFacts,
): void {
  const states: Record<ContainerState, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
  let running = 0;
  for (const { sandboxes, containers } of runtimePods) {
    if (sandboxes.some(({ ready }) => ready)) running++;
    for (const { state } of containers) states[state]++;
  }
  main.set('kubelet_running_pods', {}, running);
  main.clear('kubelet_running_containers');
  for (const [state, count] of Object.entries(states))
    if (count > 0) main.set('kubelet_running_containers', { container_state: state }, count);
  for (const label of ['', 'true']) {
    main.set('kubelet_desired_pods', { static: label }, desired.filter((pod) => staticLabel(pod) === label).length);
    main.set('kubelet_active_pods', { static: label }, active.filter((pod) => staticLabel(pod) === label).length);
  }
  main.set('kubelet_mirror_pods', {}, mirrors);
  main.set(
    'kubelet_managed_ephemeral_containers',
    {},
    desired.reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0),
  );
  countWorkers({ main }, workers);
}

function countWorkers({ main }: Pick<AgentMetrics, 'main'>, workers: Iterable<CountedWorker>): void {
  const counts = new Map<string, { labels: Record<string, string>; count: number }>();
  const add = (labels: Record<string, string>, by: number): void => {
    const key = JSON.stringify(labels);
    counts.set(key, { labels, count: (counts.get(key)?.count ?? 0) + by });
  };
  for (const lifecycle of ['sync', 'terminating', 'terminated']) {
    for (const config of ['desired', 'orphan'])
      for (const label of ['', 'true']) add({ lifecycle, config, static: label }, 0);
    add({ lifecycle, config: 'runtime_only', static: 'unknown' }, 0);
  }
  for (const { lifecycle, pod, desired } of workers) {
    add(
      pod === undefined
        ? { lifecycle, config: 'runtime_only', static: 'unknown' }
        : { lifecycle, config: desired ? 'desired' : 'orphan', static: staticLabel(pod) },
      1,
    );
  }
  for (const { labels, count } of counts.values()) main.set('kubelet_working_pods', labels, count);
}

/** The part of a pod worker's state that is counted. */
type CountedState =
  | { phase: 'queued' | 'syncing' | 'terminated' | 'finished'; pod: Pod | undefined }
  | { phase: 'terminating'; subject: { kind: 'pod'; pod: Pod } | { kind: 'orphan' } };

/** Returns what is counted of a pod worker. `wanted` is the pod as its source wants it. */
export function countedWorker(state: CountedState, wanted: Pod | undefined): CountedWorker {
  const lifecycle =
    state.phase === 'terminating'
      ? 'terminating'
      : state.phase === 'terminated' || state.phase === 'finished'
        ? 'terminated'
        : 'sync';
  const pod =
    state.phase === 'terminating' ? (state.subject.kind === 'pod' ? state.subject.pod : undefined) : state.pod;
  return { lifecycle, pod, desired: wanted !== undefined };
}
