import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../../api/core/pod-status.ts';
import type { Blocker } from '../../../api/explanation/explanation.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { Activity } from './activity-tracker.ts';

/** The facts about a pod from which blockers are computed. Times are wall-clock milliseconds. */
export interface BlockerFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** The state of its worker. */
  readonly worker: 'none' | 'queued' | 'syncing' | 'terminating' | 'terminated' | 'finished';
  readonly workerSinceMs: number;
  /** When the grace period of a pod ends or ended whose containers are being stopped. */
  readonly graceEndsMs?: number;
  /** Whether a container is still being stopped although the grace period has ended. */
  readonly isGraceOver?: boolean;
  readonly activities: readonly Activity[];
  /** The failures of the last sync, in upstream's words. */
  readonly failures: readonly Failure[];
  /** Containers in crash back-off. */
  readonly waits: readonly { container: string; untilMs: number; why: string }[];
  /** Volumes that are not ready. */
  readonly volumes: readonly Blocker[];
  /** The state of each probe of the pod. */
  readonly probes: readonly {
    container: string;
    type: ProbeType;
    verdict: ProbeVerdict;
    lastOutput?: string;
    nextTryAtMs?: number;
  }[];
  /** The error of the last sync, if it threw, and the planned next try. */
  readonly retry: { lastError: string | undefined; nextTryAtMs: number | undefined };
  /** When the current sync began, if it is so long ago that the sync must be blocked. */
  readonly busySinceMs?: number;
  /** Why the agent admits no pod now. */
  readonly heldBack?: { sinceMs: number; errors: readonly string[] };
}

export interface Failure {
  /** The failed step, such as `start container web`, `create the sandbox` or `stop container web`. */
  readonly step: string;
  /** Upstream's reason, such as ErrImagePull. */
  readonly reason: string;
  /** The message; empty if the reason is enough. */
  readonly message: string;
  readonly sinceMs: number;
  retryAtMs?: number;
}

/**
 * Computes what blocks a pod, the most direct blocker first. The list is empty if the pod is settled: nothing is
 * pending, and it is running and ready, or has ended as its restart policy demands.
 */
export function computeBlockers(facts: BlockerFacts): Blocker[] {
  if (facts.worker === 'finished') return [];
  if (facts.worker === 'none' && facts.heldBack !== undefined) {
    const { errors, sinceMs } = facts.heldBack;
    return [
      {
        step: 'admit the pod',
        cause: 'no pod is started before the container runtime has answered',
        sinceMs,
        lastError: errors.join('; '),
      },
    ];
  }
  if (facts.worker === 'queued') {
    const cause = 'an earlier pod of the same name is still being stopped';
    return [{ step: 'wait for the name', cause, sinceMs: facts.workerSinceMs }];
  }
  const blockers: Blocker[] = [
    ...facts.volumes,
    ...facts.failures.map((failure) => fromFailure(facts, failure)),
    ...facts.waits.map((wait) => fromWait(facts, wait)),
    ...facts.activities,
  ];
  if (facts.worker === 'terminating' || facts.worker === 'terminated') return ending(facts, blockers);
  if (facts.retry.lastError !== undefined) blockers.unshift(fromRetry(facts, 'sync the pod'));
  if (blockers.length > 0) return [...blockers, ...pendingResize(facts)];
  const notReady = [...containersOf(facts).flatMap((status) => unready(facts, status)), ...pendingResize(facts)];
  if (notReady.length > 0 || facts.busySinceMs === undefined) return notReady;
  return [
    {
      step: 'sync the pod',
      cause: 'a call to the container runtime or the disk has not returned yet',
      sinceMs: facts.busySinceMs,
    },
  ];
}

/** Returns a blocker if the pod runs with other resources than its source requests. */
function pendingResize(facts: BlockerFacts): Blocker[] {
  const pending = facts.status?.conditions?.find(
    ({ type, status }) => type === 'PodResizePending' && status === 'True',
  );
  if (pending === undefined) return [];
  const cause =
    pending.reason === 'Infeasible'
      ? 'the resize is infeasible on this node'
      : 'the node has no room for the resize now';
  const blocker: Blocker = {
    step: 'resize the pod',
    cause,
    sinceMs: Date.parse(pending.lastTransitionTime ?? '') || facts.workerSinceMs,
  };
  if (pending.message !== undefined) blocker.lastError = pending.message;
  return [blocker];
}

function fromFailure(facts: BlockerFacts, failure: Failure): Blocker {
  const blocker: Blocker = { step: failure.step, cause: failure.reason, sinceMs: failure.sinceMs };
  if (failure.message !== '') blocker.lastError = failure.message;
  // A failure without its own time is retried at the next sync of the pod.
  const nextTryAtMs = failure.retryAtMs ?? facts.retry.nextTryAtMs;
  if (nextTryAtMs !== undefined) blocker.nextTryAtMs = nextTryAtMs;
  return blocker;
}

function fromWait(facts: BlockerFacts, wait: { container: string; untilMs: number; why: string }): Blocker {
  const status = containersOf(facts).find((candidate) => candidate.name === wait.container);
  const ended = status?.state?.terminated ?? status?.lastState?.terminated;
  const sinceMs = ended?.finishedAt === undefined ? facts.workerSinceMs : Date.parse(ended.finishedAt);
  const blocker: Blocker = {
    step: `restart container ${wait.container}`,
    cause: wait.why,
    sinceMs,
    nextTryAtMs: wait.untilMs,
  };
  if (ended !== undefined)
    blocker.lastError = `exit code ${ended.exitCode}${ended.reason === undefined ? '' : ` (${ended.reason})`}`;
  return blocker;
}

function fromRetry(facts: BlockerFacts, step: string): Blocker {
  const blocker: Blocker = { step, cause: 'the last attempt failed', sinceMs: facts.workerSinceMs };
  if (facts.retry.lastError !== undefined) blocker.lastError = facts.retry.lastError;
  if (facts.retry.nextTryAtMs !== undefined) blocker.nextTryAtMs = facts.retry.nextTryAtMs;
  return blocker;
}

function ending(facts: BlockerFacts, blockers: readonly Blocker[]): Blocker[] {
  const step = facts.worker === 'terminating' ? 'stop the containers' : 'clean up volumes and cgroups';
  if (facts.retry.lastError !== undefined) return [fromRetry(facts, step), ...blockers];
  if (blockers.length > 0) return [...blockers];
  return [{ step, sinceMs: facts.workerSinceMs, ...endingCause(facts) }];
}

function endingCause({ worker, graceEndsMs, isGraceOver }: BlockerFacts): Pick<Blocker, 'cause' | 'nextTryAtMs'> {
  if (worker !== 'terminating') return { cause: 'volumes and cgroups of the pod are being cleaned up' };
  if (isGraceOver === true) {
    return {
      cause: 'the grace period has ended, and the runtime has not reported the end of all containers',
    };
  }
  const cause = 'the containers were told to stop and their grace period has not ended';
  return graceEndsMs === undefined ? { cause } : { cause, nextTryAtMs: graceEndsMs };
}

function containersOf(facts: BlockerFacts): ContainerStatus[] {
  return [...(facts.status?.initContainerStatuses ?? []), ...(facts.status?.containerStatuses ?? [])];
}

/** Returns the blocker for a container that is not created yet, or runs and is not ready. */
function unready(facts: BlockerFacts, status: ContainerStatus): Blocker[] {
  const running = status.state?.running;
  const spec = [...(facts.pod.spec.initContainers ?? []), ...facts.pod.spec.containers].find(
    (container) => container.name === status.name,
  );
  const isPlainInit = (facts.pod.spec.initContainers ?? []).some(
    (container) => container.name === status.name && container.restartPolicy !== 'Always',
  );
  if (status.ready || status.state?.terminated !== undefined) return [];
  const sinceMs = running?.startedAt === undefined ? facts.workerSinceMs : Date.parse(running.startedAt);
  if (running === undefined) {
    const waiting = status.state?.waiting;
    return [
      {
        step: `start container ${status.name}`,
        cause: waiting?.message ?? waiting?.reason ?? 'its turn has not come yet',
        sinceMs,
      },
    ];
  }
  if (isPlainInit)
    return [
      {
        step: `init container ${status.name}`,
        cause: 'it is still running; the next container starts when it has succeeded',
        sinceMs,
      },
    ];
  const type: ProbeType = status.started === true ? 'readiness' : 'startup';
  const report = facts.probes.find((candidate) => candidate.container === status.name && candidate.type === type);
  const period = (type === 'readiness' ? spec?.readinessProbe : spec?.startupProbe)?.periodSeconds ?? 10;
  const lost =
    type === 'readiness'
      ? facts.status?.conditions?.find(
          (condition) => condition.type === 'ContainersReady' && condition.status === 'False',
        )?.lastTransitionTime
      : undefined;
  const notReadySinceMs = Math.max(sinceMs, lost === undefined ? 0 : Date.parse(lost));
  const blocker: Blocker = {
    step: `${type} of container ${status.name}`,
    cause: `its ${type} probe has not succeeded yet (every ${period} s)`,
    sinceMs: notReadySinceMs,
  };
  if (report?.lastOutput !== undefined) blocker.lastError = report.lastOutput;
  if (report?.nextTryAtMs !== undefined) blocker.nextTryAtMs = report.nextTryAtMs;
  return [blocker];
}
