import type { ContainerId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';

/** Adds one result to the known status of a pod, so that the next plan needs no new read of the runtime. */
export function withContainer(status: PodRuntimeStatus, container: ContainerRuntimeStatus): PodRuntimeStatus {
  const others = status.containers.filter((other) => other.id !== container.id);
  return { ...status, containers: byNewest([container, ...others]) };
}

export function withoutContainer(status: PodRuntimeStatus, id: ContainerId): PodRuntimeStatus {
  return { ...status, containers: status.containers.filter((other) => other.id !== id) };
}

export function withSandbox(status: PodRuntimeStatus, sandbox: SandboxRuntimeStatus): PodRuntimeStatus {
  const others = status.sandboxes.filter((other) => other.id !== sandbox.id);
  return {
    ...status,
    sandboxes: [sandbox, ...others].sort(
      (left, right) => right.attempt - left.attempt || right.createdAtMs - left.createdAtMs,
    ),
  };
}

/**
 * Sorts by attempt, newest first. Attempt numbers never decrease, unlike creation times: a create that was given up may
 * take effect after its successor runs. A running container precedes all others of its name, so that no second one is
 * started.
 */
function byNewest(containers: readonly ContainerRuntimeStatus[]): ContainerRuntimeStatus[] {
  const running = (container: ContainerRuntimeStatus): number => (container.state === 'running' ? 1 : 0);
  return [...containers].sort(
    (left, right) =>
      running(right) - running(left) || right.attempt - left.attempt || right.createdAtMs - left.createdAtMs,
  );
}

/** Returns the same facts in the order that the planner relies on. */
export function normaliseStatus(status: PodRuntimeStatus): PodRuntimeStatus {
  return {
    ...status,
    containers: byNewest(status.containers),
    sandboxes: [...status.sandboxes].sort(
      (left, right) => right.attempt - left.attempt || right.createdAtMs - left.createdAtMs,
    ),
  };
}
