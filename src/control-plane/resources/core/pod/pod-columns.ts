import { isConditionTrue } from '../../../../api/conditions.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../../api/core/pod-status.ts';
import { isRestartableInit, isTerminalPod } from '../../../../api/pod.ts';
import type { TableColumn } from '../../../model/resource-definition.ts';
import { ageColumn, humanDuration } from '../../print-cells.ts';

/** The first columns of `kubectl get pods`. */
export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  /** One word for the state: the phase, or a more precise reason. */
  readonly status: string;
  readonly restarts: number;
  /** When a container last ended before it was started again. */
  readonly lastRestartMs: number | undefined;
}

interface Progress {
  ready: number;
  status: string;
  restarts: number;
  lastRestartMs: number | undefined;
}

/** Upstream: printers printPod. */
function summarizePod(pod: Pod): PodSummary {
  const { status = {} } = pod;
  const total = pod.spec.containers.length + (pod.spec.initContainers ?? []).filter(isRestartableInit).length;
  const gated =
    status.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated') === true;
  const begun: Progress = {
    ready: 0,
    status: gated ? 'SchedulingGated' : status.reason || (status.phase ?? ''),
    restarts: 0,
    lastRestartMs: undefined,
  };
  const sidecars: Progress = { ...begun };
  const initializing = judgeInitContainers(pod, begun, sidecars);
  const initialized = isConditionTrue(status.conditions, 'Initialized');
  const shown =
    initializing && !initialized
      ? begun
      : judgeContainers(pod, { ...begun, restarts: sidecars.restarts, lastRestartMs: sidecars.lastRestartMs });
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status.reason === 'NodeLost') shown.status = 'Unknown';
    else if (!isTerminalPod(pod)) shown.status = 'Terminating';
  }
  return {
    ready: shown.ready,
    total,
    status: shown.status,
    restarts: shown.restarts,
    lastRestartMs: shown.lastRestartMs,
  };
}

/**
 * Whether an init container still delays the other containers. Its restarts count only during that time; those of
 * sidecars always count.
 */
function judgeInitContainers(pod: Pod, all: Progress, sidecars: Progress): boolean {
  const containers = pod.spec.initContainers ?? [];
  const restartable = new Set(containers.filter(isRestartableInit).map(({ name }) => name));
  for (const [index, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const sidecar = restartable.has(status.name);
    countRestarts(all, status);
    if (sidecar) countRestarts(sidecars, status);
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready) all.ready++;
      continue;
    }
    if (terminated !== undefined) all.status = `Init:${endOf(terminated)}`;
    else if (waiting?.reason && waiting.reason !== 'PodInitializing') all.status = `Init:${waiting.reason}`;
    else all.status = `Init:${index}/${containers.length}`;
    return true;
  }
  return false;
}

function judgeContainers(pod: Pod, progress: Progress): Progress {
  let anyRuns = false;
  let failure = '';
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    countRestarts(progress, status);
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) progress.status = waiting.reason;
    else if (terminated !== undefined) {
      progress.status = endOf(terminated);
      if (terminated.exitCode !== 0) failure = progress.status;
    } else if (status.ready && running !== undefined) {
      anyRuns = true;
      progress.ready++;
    }
  }
  if (progress.status !== 'Completed') return progress;
  const isReady = isConditionTrue(pod.status?.conditions, 'Ready');
  if (anyRuns && isReady) progress.status = 'Running';
  else if (failure !== '') progress.status = failure;
  else if (anyRuns) progress.status = 'NotReady';
  return progress;
}

function countRestarts(progress: Progress, { restartCount, lastState }: ContainerStatus): void {
  progress.restarts += restartCount;
  const endMs = Date.parse(lastState?.terminated?.finishedAt ?? '');
  if (!Number.isNaN(endMs) && endMs > (progress.lastRestartMs ?? 0)) progress.lastRestartMs = endMs;
}

function endOf({
  reason,
  signal,
  exitCode,
}: {
  readonly reason?: string;
  readonly signal?: number;
  readonly exitCode: number;
}): string {
  return reason || (signal !== undefined && signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}

function formatRestarts({ restarts, lastRestartMs }: PodSummary, nowMs: number): string {
  return restarts === 0 || lastRestartMs === undefined
    ? String(restarts)
    : `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)`;
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  // The first condition of a type counts.
  const conditions = new Map(status?.conditions?.toReversed().map((each) => [each.type as string, each.status]));
  const open = gates.filter(({ conditionType }) => conditions.get(conditionType) === 'True');
  return `${open.length}/${gates.length}`;
}

/** The summaries by version of a pod, because three columns use them. */
const summaries = new WeakMap<Pod, PodSummary>();

function summaryOf(pod: Pod): PodSummary {
  let summary = summaries.get(pod);
  if (summary === undefined) summaries.set(pod, (summary = summarizePod(pod)));
  return summary;
}

export const podColumns: readonly TableColumn<Pod>[] = [
  {
    name: 'Ready',
    type: 'string',
    description: 'How many of the containers are ready.',
    cell: (pod) => `${summaryOf(pod).ready}/${summaryOf(pod).total}`,
  },
  {
    name: 'Status',
    type: 'string',
    description: 'The state of the pod in one word.',
    cell: (pod) => summaryOf(pod).status,
  },
  {
    name: 'Restarts',
    type: 'string',
    description: 'How often its containers were started again, and when last.',
    cell: (pod, nowMs) => formatRestarts(summaryOf(pod), nowMs),
  },
  ageColumn,
  {
    name: 'IP',
    type: 'string',
    priority: 1,
    description: 'Its first address.',
    cell: ({ status }) => status?.podIPs?.[0]?.ip || '<none>',
  },
  {
    name: 'Node',
    type: 'string',
    priority: 1,
    description: 'The node it is bound to.',
    cell: ({ spec }) => spec.nodeName || '<none>',
  },
  {
    name: 'Nominated Node',
    type: 'string',
    priority: 1,
    description: 'The node on which room is being made for it.',
    cell: ({ status }) => status?.nominatedNodeName || '<none>',
  },
  {
    name: 'Readiness Gates',
    type: 'string',
    priority: 1,
    description: 'How many of its readiness gates are open.',
    cell: readinessGates,
  },
];
