import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { deletionGraceSeconds, isStaticPod } from '../../../../api/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import { computeInitActions } from './compute-init-actions.ts';
import { isPodLevelChanged, isStartedOtherwise, computeResizeSteps } from './compute-resize.ts';
import { isDefinitionChanged } from './container-hash.ts';
import type { Draft, PlanFacts } from './plan-facts.ts';
import { killStep, mustRestartToResize, unknownMessage } from './plan-facts.ts';
import {
  initRole,
  resetSources,
  restartableContainers,
  restartsAfterExit,
  restartsAfterKill,
  shouldBeStarted,
  shouldRestartAllContainers,
  triggersRestartAll,
} from './restart-policy.ts';
import type { SandboxDecision } from './sandbox-changed.ts';
import { computeSandboxDecision } from './sandbox-changed.ts';
import type { ContainerRole, KillReason, Step, StepOf, Wait } from './steps.ts';

export interface PodActions {
  /** The steps in the order of execution; empty if the pod is in its desired state. */
  readonly steps: readonly Step[];
  /** The containers that would be started now without their back-off. */
  readonly waits: readonly Wait[];
  /** The sandbox to use. It is undefined when the pod is killed and not created again. */
  readonly sandbox: SandboxDecision | undefined;
  /** Whether all init containers have succeeded. */
  readonly initialized: boolean;
}

/**
 * Compares the pod with what runs and plans the steps (upstream: kuberuntime_manager.go computePodActions, and the
 * decisions of SyncPod: purging, pruning and back-off). Order of steps: kill, remove, sandbox, resize, then start:
 * ephemeral, init, regular containers.
 */
export function computePodActions(facts: PlanFacts): PodActions {
  const { pod, status } = facts;
  const sandbox = computeSandboxDecision(pod, status);
  if ((facts.restartAll ?? shouldRestartAllContainers(pod, status)) && !mustResetWait(facts))
    return planReset(facts, sandbox);
  if (sandbox.kind === 'create') return planNewSandbox(facts, sandbox);

  const draft: Draft = {
    kills: [...surplusKills(status), ...droppedKills(pod, status)],
    starts: [],
    resize: { updates: [], restarts: false },
    killPod: false,
  };
  for (const container of pod.spec.ephemeralContainers ?? []) {
    const actual = newestContainer(status, container.name);
    // An ephemeral container is never restarted. One that was created and not started, because the agent stopped in
    // between, is started now.
    if (actual === undefined || actual.state === 'created') draft.starts.push({ container, role: 'ephemeral' });
  }
  const initialized = computeInitActions(facts, draft);
  if (initialized && !draft.killPod) planRegular(facts, draft);
  if (draft.killPod) {
    return {
      steps: [killPodStep(pod, 'nothing-to-run'), ...pruneSteps(pod, status)],
      waits: [],
      sandbox: undefined,
      initialized,
    };
  }
  const { starts, waits } = splitByBackoff(facts, draft.starts, sandbox);
  return {
    steps: [
      ...draft.kills,
      ...pruneSteps(pod, status),
      ...computeResizeSteps(draft.resize, mustResizePod(facts, starts)),
      ...starts,
    ],
    waits,
    sandbox,
    initialized,
  };
}

/**
 * Whether the pod's own cgroup has to change, apart from running containers: for its own resources, or for those of
 * containers that start.
 */
function mustResizePod({ pod, actuated }: PlanFacts, starts: readonly Step[]): boolean {
  if (actuated === undefined) return false;
  const starting = new Set(starts.flatMap((step) => (step.kind === 'startContainer' ? [step.name] : [])));
  return (
    isPodLevelChanged(pod, actuated) ||
    restartableContainers(pod).some(
      (container) => starting.has(container.name) && isStartedOtherwise(pod, container, actuated),
    )
  );
}

/**
 * Kills surplus containers. If one container runs more than once (a create that took effect late, a manual start), only
 * the newest is kept.
 */
function surplusKills(status: PodRuntimeStatus): StepOf<'killContainer'>[] {
  return status.containers
    .filter((run) => run.state === 'running' && newestContainer(status, run.name) !== run)
    .map((run) => killStep(run, 'Unknown', `Container ${run.name} runs more than once, the older one is stopped`));
}

/**
 * Kills running containers that were removed from the pod. Only a manifest that sets the UID can remove a container:
 * without a UID, different content means another pod, and the API server rejects such an update. Upstream leaves the
 * container running, without a status, until the pod ends.
 */
function droppedKills(pod: Pod, status: PodRuntimeStatus): StepOf<'killContainer'>[] {
  if (!isStaticPod(pod)) return [];
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const named = new Set([...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name));
  return status.containers
    .filter((run) => run.state === 'running' && !named.has(run.name) && newestContainer(status, run.name) === run)
    .map((run) => killStep(run, 'DefinitionChanged', `Container ${run.name} is not in the manifest any more`));
}

/** Plans the regular containers (upstream: second half of computePodActions). */
function planRegular(facts: PlanFacts, draft: Draft): void {
  const { pod, status } = facts;
  let kept = 0;
  let started = 0;
  for (const container of pod.spec.containers) {
    const actual = newestContainer(status, container.name);
    if (actual === undefined || actual.state !== 'running') {
      if (!shouldBeStarted(pod, container, actual)) continue;
      // The container may still run, and there must never be two instances of it.
      if (actual?.state === 'unknown') draft.kills.push(killStep(actual, 'Unknown', unknownMessage('Container')));
      draft.starts.push({ container, role: 'regular' });
      started++;
      continue;
    }
    const cause = killCause(facts, container, actual);
    if (cause === undefined) {
      if (!mustRestartToResize(facts, draft, container, actual)) {
        kept++;
        continue;
      }
      draft.starts.push({ container, role: 'regular' });
      started++;
      continue;
    }
    draft.kills.push(
      killStep(actual, cause.reason, cause.restart ? `${cause.message}, will be restarted` : cause.message),
    );
    if (!cause.restart) continue;
    draft.starts.push({ container, role: 'regular' });
    started++;
  }
  // Sidecars must not keep a finished pod running.
  if (kept === 0 && started === 0) draft.killPod = true;
}

function killCause(
  facts: PlanFacts,
  container: Container,
  actual: ContainerRuntimeStatus,
): { reason: KillReason; message: string; restart: boolean } | undefined {
  const { name } = container;
  // A changed definition restarts the container under any policy.
  if (isDefinitionChanged(container, actual))
    return { reason: 'DefinitionChanged', message: `Container ${name} definition changed`, restart: true };
  const restart = restartsAfterKill(facts.pod, container);
  if (facts.probe('liveness', actual.id) === 'failure')
    return { reason: 'LivenessProbe', message: `Container ${name} failed liveness probe`, restart };
  if (facts.probe('startup', actual.id) === 'failure')
    return { reason: 'StartupProbe', message: `Container ${name} failed startup probe`, restart };
  return undefined;
}

/** Plans to stop everything and create it again, init containers first. */
function planNewSandbox(facts: PlanFacts, sandbox: Extract<SandboxDecision, { kind: 'create' }>): PodActions {
  const { pod, status } = facts;
  // A new pod has nothing to stop. Leftovers of a changed sandbox are stopped even if nothing is started.
  const stop = status.sandboxes.length > 0 || status.containers.length > 0;
  const over: PodActions = {
    steps: stop ? [killPodStep(pod, 'nothing-to-run')] : [],
    waits: [],
    sandbox: undefined,
    initialized: true,
  };
  if (isNeverMadeAgain(pod, status, sandbox)) return settle(over, status);
  const regular = pod.spec.containers.filter((container) => !isDonePermanently(pod, container, status));

  const first = pod.spec.initContainers?.[0];
  const planned: Draft['starts'] =
    first === undefined
      ? regular.map((container) => ({ container, role: 'regular' }))
      : [{ container: first, role: initRole(first) }];
  const { starts, waits } = splitByBackoff(facts, planned, sandbox);
  const steps: Step[] = [];
  if (stop)
    steps.push(
      killPodStep(pod, 'sandbox-changed'),
      ...purgeSteps(pod, status),
      ...computeResizeSteps({ updates: [], restarts: false }, mustResizePod(facts, starts)),
    );
  steps.push({ kind: 'createSandbox', attempt: sandbox.attempt, reason: sandbox.reason }, ...starts);
  return { steps, waits, sandbox, initialized: first === undefined };
}

/**
 * Whether the sandbox is not created again. With policy Never, containers that once existed are not created again; if
 * none existed, the sandbox is retried. With other policies, the pod ends when all containers are done.
 */
function isNeverMadeAgain(
  pod: Pod,
  status: PodRuntimeStatus,
  sandbox: Extract<SandboxDecision, { kind: 'create' }>,
): boolean {
  if (pod.spec.restartPolicy === 'Never' && sandbox.attempt !== 0 && status.containers.length > 0) return true;
  return (
    pod.spec.containers.every((container) => isDonePermanently(pod, container, status)) &&
    hasAnyRegularCreated(pod, status)
  );
}

/**
 * Whether the pod's sandbox is gone and no plan will create another: containers that have not run by then never will.
 * Upstream leaves such a pod Pending for ever if one of its containers has no record; here its status reports that it
 * is over.
 */
export function isGivenUp(pod: Pod, status: PodRuntimeStatus): boolean {
  if (status.sandboxes.some((sandbox) => sandbox.ready) || shouldRestartAllContainers(pod, status)) return false;
  const sandbox = computeSandboxDecision(pod, status);
  return sandbox.kind === 'create' && isNeverMadeAgain(pod, status, sandbox);
}

/** Returns the empty plan for a pod that is over and already stopped. */
function settle(over: PodActions, status: PodRuntimeStatus): PodActions {
  const stopped =
    !status.sandboxes.some((sandbox) => sandbox.ready) &&
    !status.containers.some((container) => container.state === 'running' || container.state === 'unknown');
  return stopped ? { ...over, steps: [] } : over;
}

/**
 * Whether the container ended and no policy or rule restarts it. Upstream checks OnFailure only and would run a
 * container with its own `Never` again in each new sandbox, without end. Here the container's `Never` counts like the
 * pod's.
 */
function isDonePermanently(pod: Pod, container: Container, status: PodRuntimeStatus): boolean {
  const newest = newestContainer(status, container.name);
  return newest !== undefined && newest.state === 'exited' && !restartsAfterExit(pod, container, newest.exitCode);
}

function hasAnyRegularCreated(pod: Pod, status: PodRuntimeStatus): boolean {
  return pod.spec.containers.some((container) => {
    const newest = newestContainer(status, container.name);
    return newest !== undefined && newest.state !== 'unknown';
  });
}

/**
 * Whether the reset must wait. A container that requests a reset repeatedly gets a back-off as after a crash, and the
 * others continue. Upstream has no back-off here, because its reset removes the records of ended runs, which contain
 * it.
 */
function mustResetWait({ pod, status, crashWait }: PlanFacts): boolean {
  return resetSources(pod, status).some(({ container, exited }) => crashWait(container, exited) !== undefined);
}

/**
 * Plans RestartAllContainers: it kills without grace and removes regular containers before init containers, and the
 * triggering ones last.
 */
function planReset(facts: PlanFacts, sandbox: SandboxDecision): PodActions {
  const { pod, status } = facts;
  const [targets, sources] = [[] as Step[], [] as Step[]];
  for (const containers of [pod.spec.containers, pod.spec.initContainers ?? []]) {
    for (const container of containers) {
      for (const actual of status.containers.filter((candidate) => candidate.name === container.name)) {
        const remove: Step = {
          kind: 'removeContainer',
          id: actual.id,
          name: actual.name,
          reason: 'restart-all',
          keepLogs: true,
        };
        if (triggersRestartAll(container, actual)) sources.push(remove);
        else if (actual.state === 'exited') targets.push(remove);
        else targets.push({ ...killStep(actual, 'RestartAllContainers', 'killing'), graceMs: 0 }, remove);
      }
    }
  }
  return { steps: [...targets, ...sources], waits: [], sandbox, initialized: false };
}

/** Keeps only the newest ended run of each init container (upstream: pruneInitContainersBeforeStart). */
function pruneSteps(pod: Pod, status: PodRuntimeStatus): Step[] {
  return (pod.spec.initContainers ?? []).flatMap((container) =>
    status.containers
      .filter((actual) => actual.name === container.name && (actual.state === 'exited' || actual.state === 'unknown'))
      .slice(1)
      .map((actual) => ({
        kind: 'removeContainer' as const,
        id: actual.id,
        name: actual.name,
        reason: 'prune' as const,
        keepLogs: false,
      })),
  );
}

function purgeSteps(pod: Pod, status: PodRuntimeStatus): Step[] {
  return (pod.spec.initContainers ?? []).flatMap((container) =>
    status.containers
      .filter((actual) => actual.name === container.name)
      .map((actual) => ({
        kind: 'removeContainer' as const,
        id: actual.id,
        name: actual.name,
        reason: 'purge' as const,
        keepLogs: false,
      })),
  );
}

/**
 * Turns containers to start into steps, and containers in back-off into waits. An init container in back-off delays all
 * later containers; a sidecar or regular container delays only itself. Ephemeral containers never ran before, so they
 * never wait.
 */
function splitByBackoff(
  facts: PlanFacts,
  planned: Draft['starts'],
  sandbox: SandboxDecision,
): { starts: Step[]; waits: Wait[] } {
  const starts: Step[] = [];
  const waits: Wait[] = [];
  for (const { container, role } of planned) {
    const exited = facts.status.containers.find(
      (actual) => actual.name === container.name && actual.state === 'exited',
    );
    const wait = exited === undefined ? undefined : facts.crashWait(container, exited);
    if (wait === undefined) {
      starts.push(startStep(facts.status, container, role, sandbox));
      continue;
    }
    waits.push({ container: container.name, untilMs: facts.nowMs + wait.waitMs, ...wait, why: 'CrashLoopBackOff' });
    if (role === 'init') break;
  }
  return { starts, waits };
}

/**
 * A container that was created and never started is used instead of a new one, if it is of this definition and sandbox.
 */
function startStep(
  status: PodRuntimeStatus,
  container: AnyContainer,
  role: ContainerRole,
  sandbox: SandboxDecision,
): StepOf<'startContainer'> {
  const newest = newestContainer(status, container.name);
  const step = { kind: 'startContainer' as const, name: container.name, role };
  if (newest === undefined) return { ...step, attempt: 0 };
  const usable =
    newest.state === 'created' &&
    sandbox.kind === 'keep' &&
    newest.sandboxId === sandbox.sandbox.id &&
    !isDefinitionChanged(container, newest);
  if (usable) return { ...step, attempt: newest.attempt, adopt: newest.id };
  // The running container comes first and need not have the highest attempt number.
  return {
    ...step,
    attempt:
      1 + Math.max(...status.containers.filter(({ name }) => name === container.name).map(({ attempt }) => attempt)),
  };
}

function killPodStep(pod: Pod, reason: StepOf<'killPod'>['reason']): Step {
  return { kind: 'killPod', reason, graceMs: deletionGraceSeconds(pod) * 1000 };
}
