import type { ContainerStateTerminated, ContainerStatus } from './core/pod-status.ts';
import type { Pod } from './core/pod.ts';
import { isStaticPod, isTerminalPhase } from './pod.ts';

/**
 * The text in kubectl's STATUS column: the most specific reason, otherwise the phase (upstream:
 * printers/internalversion printPod).
 */
export function statusWord(pod: Pod): string {
  const { phase = 'Pending', reason } = pod.status ?? {};
  if (pod.metadata.deletionTimestamp !== undefined && !isTerminalPhase(phase)) return 'Terminating';
  return initWord(pod) ?? containersWord(pod) ?? reason ?? phase;
}

/**
 * Returns the wall time from which the age of a pod on its node counts, or NaN. A node without an API server shows a
 * new `startTime` after each restart of the agent, but the time at which it accepted a static pod stays in the
 * condition PodScheduled.
 */
export function startOfAgeMs(pod: Pod): number {
  const startMs = Date.parse(pod.status?.startTime ?? '');
  const scheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const scheduledMs = isStaticPod(pod) ? Date.parse(scheduled?.lastTransitionTime ?? '') : Number.NaN;
  return scheduledMs < startMs ? scheduledMs : startMs;
}

/** The status of the first init container that delays the others; undefined if there is none. */
function initWord(pod: Pod): string | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const isInitialized =
    pod.status?.conditions?.some((condition) => condition.type === 'Initialized' && condition.status === 'True') ===
    true;
  for (const [index, status] of statuses.entries()) {
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0 || (isSidecar(pod, status.name) && status.started === true)) continue;
    if (isInitialized) return undefined;
    if (terminated !== undefined) return `Init:${endWord(terminated)}`;
    if (waiting?.reason !== undefined && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${index}/${pod.spec.initContainers?.length ?? 0}`;
  }
  return undefined;
}

/**
 * The reason of the first container that has one. A pod with some completed and some ready containers counts as
 * running.
 */
function containersWord(pod: Pod): string | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const [word] = statuses.flatMap(
    ({ state }) => state?.waiting?.reason ?? (state?.terminated === undefined ? [] : endWord(state.terminated)),
  );
  if (word !== 'Completed' || !statuses.some((status) => status.ready && status.state?.running !== undefined))
    return word;
  const isReady =
    pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
  return isReady ? 'Running' : 'NotReady';
}

function endWord({ reason, signal, exitCode }: ContainerStateTerminated): string {
  if (reason !== undefined && reason !== '') return reason;
  return signal === undefined || signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function isSidecar(pod: Pod, name: string): boolean {
  return (pod.spec.initContainers ?? []).some(
    (container) => container.name === name && container.restartPolicy === 'Always',
  );
}

/** The number of ready containers and of all containers that count, including sidecars: `1/2`. */
export function readyCount(pod: Pod): string {
  const sidecars = new Set(
    (pod.spec.initContainers ?? [])
      .filter((container) => container.restartPolicy === 'Always')
      .map((container) => container.name),
  );
  const counted: ContainerStatus[] = [
    ...(pod.status?.initContainerStatuses ?? []).filter((container) => sidecars.has(container.name)),
    ...(pod.status?.containerStatuses ?? []),
  ];
  return `${counted.filter((container) => container.ready).length}/${pod.spec.containers.length + sidecars.size}`;
}
