import type { Container } from '../../../../api/core/container.ts';
import { isRestartableInit } from '../../../../api/pod.ts';
import { unreachable } from '../../../../base/errors.ts';
import type { ContainerRuntimeStatus } from '../../../model/runtime-status.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import { isDefinitionChanged } from './container-hash.ts';
import type { Draft, PlanFacts } from './plan-facts.ts';
import { killStep, mustRestartToResize, unknownMessage } from './plan-facts.ts';
import { initRole, isInitFailed, restartsAfterExit, restartsAfterKill } from './restart-policy.ts';

/** The decision about one init container. */
type Verdict =
  /** There is nothing to do, and the container is not known to have succeeded: later containers wait. */
  | 'pending'
  /** The container has succeeded, or (a sidecar) has started: the next one may start. */
  | 'done'
  /** The same as done, but this sidecar is killed and started again. */
  | 'done-restart'
  | 'start'
  /** A step in the draft kills the container; then it is started. */
  | 'restart'
  /** The container failed permanently, so the pod failed. */
  | 'pod-over';

/**
 * Adds what init containers and sidecars need to the draft; returns whether the pod is initialised (upstream:
 * kuberuntime_container.go computeInitContainerActions). Goes from the last one backwards: records of earlier ones may
 * have been collected, so the latest one with a record decides. Everything before it has succeeded; of those only
 * sidecars matter.
 */
export function computeInitActions(facts: PlanFacts, draft: Draft): boolean {
  const { pod, status } = facts;
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return true;
  // Exited regular containers prove nothing, because they may belong to the previous sandbox.
  let initialized = pod.spec.containers.some((container) => {
    const state = newestContainer(status, container.name)?.state;
    return state === 'running' || state === 'created';
  });
  let laterHasTrace = initialized;
  const starts: Container[] = [];

  for (const [index, container] of [...containers.entries()].reverse()) {
    const actual = newestContainer(status, container.name);
    if (actual === undefined) {
      if (laterHasTrace && isRestartableInit(container)) starts.push(container);
      continue;
    }
    if (laterHasTrace && !isRestartableInit(container)) continue;
    const verdict = isRestartableInit(container)
      ? sidecarVerdict(facts, draft, container, actual)
      : initVerdict(facts, draft, container, actual);
    if (verdict === 'pod-over') {
      draft.killPod = true;
      return false;
    }
    if (verdict === 'done' || verdict === 'done-restart') {
      const next = containers[index + 1];
      if (next === undefined) initialized = true;
      else if (!laterHasTrace) starts.push(next);
    }
    if (verdict === 'start' || verdict === 'restart' || verdict === 'done-restart') starts.push(container);
    laterHasTrace = true;
  }
  if (!laterHasTrace) starts.push(containers[0] as Container);
  for (const container of starts.reverse()) draft.starts.push({ container, role: initRole(container) });
  return initialized;
}

function initVerdict(facts: PlanFacts, draft: Draft, container: Container, actual: ContainerRuntimeStatus): Verdict {
  switch (actual.state) {
    case 'created':
      // Create and start are one step, so a container in this state failed to start.
      return 'start';
    case 'running':
      // Validation allows no init container to restart for its resources.
      mustRestartToResize(facts, draft, container, actual);
      return 'pending';
    case 'exited':
      if (!isInitFailed(actual)) return 'done';
      return restartsAfterExit(facts.pod, container, actual.exitCode) ? 'start' : 'pod-over';
    case 'unknown':
      if (!restartsAfterKill(facts.pod, container)) return 'pod-over';
      draft.kills.push(killStep(actual, 'Unknown', unknownMessage('Init container')));
      return 'restart';
    default:
      return unreachable(actual.state);
  }
}

function sidecarVerdict(facts: PlanFacts, draft: Draft, container: Container, actual: ContainerRuntimeStatus): Verdict {
  switch (actual.state) {
    case 'created':
    case 'exited':
      return 'start';
    case 'running':
      return runningSidecarVerdict(facts, draft, container, actual);
    case 'unknown':
      draft.kills.push(killStep(actual, 'Unknown', unknownMessage('Init container')));
      return 'restart';
    default:
      return unreachable(actual.state);
  }
}

/** A sidecar has started once its startup probe passed; after that its liveness never delays the next container. */
function runningSidecarVerdict(
  facts: PlanFacts,
  draft: Draft,
  container: Container,
  actual: ContainerRuntimeStatus,
): Verdict {
  const { name } = container;
  if (container.startupProbe !== undefined) {
    const startup = facts.probe('startup', actual.id);
    if (startup === 'failure') {
      draft.kills.push(killStep(actual, 'StartupProbe', `Init container ${name} failed startup probe`));
      return 'restart';
    }
    if (startup !== 'success') return 'pending';
  }
  if (isDefinitionChanged(container, actual)) {
    draft.kills.push(killStep(actual, 'DefinitionChanged', `Init container ${name} definition changed`));
    return 'done-restart';
  }
  if (container.livenessProbe !== undefined && facts.probe('liveness', actual.id) === 'failure') {
    draft.kills.push(killStep(actual, 'LivenessProbe', `Init container ${name} failed liveness probe`));
    return 'done-restart';
  }
  return mustRestartToResize(facts, draft, container, actual) ? 'done-restart' : 'done';
}
