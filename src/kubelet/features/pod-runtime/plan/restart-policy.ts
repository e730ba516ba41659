import type { AnyContainer } from '../../../../api/pod.ts';
import type { Container, ContainerRestartRule } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { isDeleted, isRestartableInit } from '../../../../api/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import type { ContainerRole } from './steps.ts';

/**
 * Returns the first rule whose exit codes match (upstream: pkg/api/v1/pod/util.go FindMatchingContainerRestartRule).
 */
function matchingRestartRule(container: AnyContainer, exitCode: number): ContainerRestartRule | undefined {
  return (container.restartPolicyRules ?? []).find((rule) => {
    const listed = rule.exitCodes?.values?.includes(exitCode) ?? false;
    if (rule.exitCodes?.operator === 'In') return listed;
    return rule.exitCodes?.operator === 'NotIn' && !listed;
  });
}

/** Whether an exit with this code leads to a restart: rules first, then the container's policy, then the pod's. */
export function restartsAfterExit(pod: Pod, container: AnyContainer, exitCode: number): boolean {
  if (container.restartPolicy !== undefined && matchingRestartRule(container, exitCode) !== undefined) return true;
  return policyAllows(container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always', exitCode);
}

function policyAllows(policy: NonNullable<AnyContainer['restartPolicy']>, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/**
 * Whether the agent starts a container again that it killed. Exit-code rules do not count: the container has not exited
 * yet.
 */
export function restartsAfterKill(pod: Pod, container: AnyContainer): boolean {
  return (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') !== 'Never';
}

/**
 * Whether a container that is not running should be started (upstream: container/helpers.go
 * ShouldContainerBeRestarted).
 */
export function shouldBeStarted(
  pod: Pod,
  container: AnyContainer,
  newest: ContainerRuntimeStatus | undefined,
): boolean {
  if (isDeleted(pod)) return false;
  if (newest === undefined) return true;
  if (newest.state === 'running') return false;
  if (newest.state === 'unknown' || newest.state === 'created') return true;
  return restartsAfterExit(pod, container, newest.exitCode);
}

/** Whether an init container ended without success (upstream: kuberuntime/helpers.go isInitContainerFailed). */
export function isInitFailed(status: ContainerRuntimeStatus): boolean {
  return (
    status.reason === 'OOMKilled' || (status.state === 'exited' && status.exitCode !== 0) || status.state === 'unknown'
  );
}

export function initRole(container: Pick<Container, 'restartPolicy'>): ContainerRole {
  return isRestartableInit(container) ? 'sidecar' : 'init';
}

/** Returns the init and regular containers, which RestartAllContainers affects. */
export function restartableContainers(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

export function triggersRestartAll(
  container: AnyContainer,
  status: Pick<ContainerRuntimeStatus, 'state' | 'exitCode'>,
): boolean {
  return (
    status.state === 'exited' && matchingRestartRule(container, status.exitCode)?.action === 'RestartAllContainers'
  );
}

/**
 * Whether the whole pod should restart in place: the newest run of a container ended with a code whose rule asks for it
 * (upstream: container/helpers.go ShouldAllContainersRestart). The state is in the runtime alone: the container that
 * triggered it is removed last, so an incomplete reset is continued after a restart of the agent, and it is over once
 * that container is gone.
 */
export function shouldRestartAllContainers(pod: Pod, status: PodRuntimeStatus): boolean {
  return resetSources(pod, status).length > 0;
}

/** Returns the containers whose newest run requests the reset. */
export function resetSources(
  pod: Pod,
  status: PodRuntimeStatus,
): { container: Container; exited: ContainerRuntimeStatus }[] {
  return restartableContainers(pod).flatMap((container) => {
    const newest = newestContainer(status, container.name);
    return newest !== undefined && triggersRestartAll(container, newest) ? [{ container, exited: newest }] : [];
  });
}
