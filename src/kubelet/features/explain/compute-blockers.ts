import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../../api/core/pod-status.ts';
import type { Blocker } from '../../../api/explanation/explanation.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { Activity } from './activity-tracker.ts';

/** What is known of a pod when a user asks why it is not settled. Times are wall milliseconds. */
export interface BlockerFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** The state of its worker. */
  readonly worker: 'none' | 'queued' | 'syncing' | 'terminating' | 'terminated' | 'finished';
  readonly workerSinceMs: number;
  /** For a pod whose containers are being stopped: when its grace period ends or ended. */
  readonly graceEndsMs?: number;
  /** A container is still being stopped although the grace period has ended. */
  readonly isGraceOver?: boolean;
  readonly activities: readonly Activity[];
  /** The failures of the last pass, in upstream's words. */
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
  /** The last pass threw: its error and the planned next try. */
  readonly retry: { lastError: string | undefined; nextTryAtMs: number | undefined };
  /** When the current pass began, if it takes so long that it must be blocked. */
  readonly busySinceMs?: number;
  /** Why the agent admits no pod now. */
  readonly heldBack?: { sinceMs: number; errors: readonly string[] };
}

export interface Failure {
  /** What failed: `start container web`, `create the sandbox`, `stop container web`. */
  readonly step: string;
  /** Upstream's reason, such as ErrImagePull. */
  readonly reason: string;
  /** Empty where the reason is enough. */
  readonly message: string;
  readonly sinceMs: number;
  retryAtMs?: number;
}

/**
 * Settled means: the pod is in its desired state and nothing is pending — running and ready, or ended as its policy
 * demands. Then the list is empty; else it begins with what most directly blocks the pod.
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
      cause: 'a call to the container runtime or the disk has not come back yet',
      sinceMs: facts.busySinceMs,
    },
  ];
}

/** The pod runs with other resources than its source now asks for. */
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
  // A failure without a time of its own is retried with the next pass over the pod.
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
  const cause = 'the containers have been asked to stop and have their grace period to do so';
  return graceEndsMs === undefined ? { cause } : { cause, nextTryAtMs: graceEndsMs };
}

function containersOf(facts: BlockerFacts): ContainerStatus[] {
  return [...(facts.status?.initContainerStatuses ?? []), ...(facts.status?.containerStatuses ?? [])];
}

/** A container that runs but is not ready, or has not been created yet. */
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
