import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList, ResourceRequirements } from '../../../../api/core/resource-requirements.ts';
import { effectiveLimits, resizable } from '../../../../api/pod-allocation.ts';
import { quantityOf, quantityOfMillis } from '../../../../api/quantity.ts';
import { bytesOf, milliOf, runsAsAsked } from '../../../model/actual-resources.ts';
import { milliCpuOfQuota, milliCpuOfShares } from '../../../model/cpu-units.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import type { Step } from './steps.ts';

export type ResizedResource = 'memory' | 'cpu';

/** The recorded actuated resources of a pod; undefined if there is no record. */
export interface ActuatedFacts {
  readonly container: (name: string) => ResourceRequirements | undefined;
  readonly podLevel: ResourceRequirements | undefined;
  /** Whether the pod's cgroup is known to differ from its desired state. */
  readonly podUnsettled?: boolean;
}

/** The steps for one running container whose resources differ from its allocation. */
export type ContainerResize =
  | { kind: 'none' }
  | { kind: 'restart' }
  | { kind: 'update'; changes: readonly ResourceChange[] };

export interface ResourceChange {
  readonly resource: ResizedResource;
  readonly direction: 'up' | 'down';
  /** The new memory limit, if it decreases. */
  readonly lowerLimitBytes?: number;
}

interface Amounts {
  readonly memoryLimit: number;
  readonly memoryRequest: number;
  readonly cpuLimit: number;
  readonly cpuRequest: number;
}

/**
 * Compares the allocation of a running container with its actuated record (upstream: computePodResizeAction). Without a
 * record, the runtime's values are used. Without those, the container counts as correct, so that a lost file restarts
 * nothing.
 */
export function computeContainerResize(
  pod: Pod,
  container: Container,
  actual: ContainerRuntimeStatus,
  actuated: ActuatedFacts,
): ContainerResize {
  if (actual.state !== 'running') return { kind: 'none' };
  const recorded = actuated.container(container.name) ?? recordOfRuntime(pod, container, actual);
  if (recorded === undefined) return { kind: 'none' };
  const wanted = amountsOf(pod.spec.resources, container.resources);
  // A record of pod-level resources does not apply to a pod that has none.
  const current = amountsOf(pod.spec.resources === undefined ? undefined : actuated.podLevel, recorded);
  const memory = changeOf('memory', {
    limit: [current.memoryLimit, wanted.memoryLimit],
    request: [current.memoryRequest, wanted.memoryRequest],
  });
  const cpu = changeOf('cpu', {
    limit: [current.cpuLimit, wanted.cpuLimit],
    request: [current.cpuRequest, wanted.cpuRequest],
  });
  const changes = [memory, cpu].filter((change) => change !== undefined);
  if (changes.length === 0) return { kind: 'none' };
  return changes.some(({ resource }) => restartsFor(container, resource))
    ? { kind: 'restart' }
    : { kind: 'update', changes };
}

/**
 * Whether the container last ran with other resources than it will be started with. Then the pod's cgroup has not been
 * changed either. (Upstream does not change that cgroup, so a container that was down during its resize keeps the old
 * limit.)
 */
export function isStartedOtherwise(pod: Pod, container: Container, actuated: ActuatedFacts): boolean {
  const recorded = actuated.container(container.name);
  if (recorded === undefined) return false;
  const [wanted, current] = [amountsOf(pod.spec.resources, container.resources), amountsOf(undefined, recorded)];
  return (
    wanted.memoryLimit !== current.memoryLimit ||
    wanted.memoryRequest !== current.memoryRequest ||
    wanted.cpuLimit !== current.cpuLimit ||
    wanted.cpuRequest !== current.cpuRequest
  );
}

/**
 * Whether the change was actuated and not recorded, because the agent stopped in between. Without this check the
 * container would be restarted once more.
 */
export function isDoneUnrecorded(
  pod: Pod,
  container: Container,
  actual: ContainerRuntimeStatus,
  recorded: ResourceRequirements | undefined,
): boolean {
  if (recorded === undefined || actual.state !== 'running' || actual.resources === undefined) return false;
  const sameRequest = bytesOf(recorded.requests, 'memory') === bytesOf(container.resources?.requests, 'memory');
  return sameRequest && runsAsAsked(pod, container, actual.resources, true);
}

/**
 * Builds the record of a container from the runtime's values. Returns undefined if they match the allocation, or if the
 * runtime reports none.
 */
export function recordOfRuntime(
  pod: Pod,
  container: Container,
  { resources: made }: ContainerRuntimeStatus,
): ResourceRequirements | undefined {
  if (made === undefined || runsAsAsked(pod, container, made)) return undefined;
  const limits: ResourceList = {};
  const cpuLimit = milliCpuOfQuota(made.cpuQuota, made.cpuPeriod);
  if (cpuLimit > 0) limits['cpu'] = quantityOfMillis(cpuLimit);
  if (made.memoryLimitBytes > 0) limits['memory'] = quantityOf(made.memoryLimitBytes, 'BinarySI');
  const requests: ResourceList = { ...container.resources?.requests };
  if (requests['cpu'] !== undefined) requests['cpu'] = quantityOfMillis(milliCpuOfShares(made.cpuShares));
  return { limits, requests };
}

function amountsOf(podLevel: ResourceRequirements | undefined, own: ResourceRequirements | undefined): Amounts {
  const limits = effectiveLimits(podLevel, { resources: own });
  return {
    memoryLimit: bytesOf(limits, 'memory'),
    cpuLimit: milliOf(limits, 'cpu'),
    memoryRequest: bytesOf(own?.requests, 'memory'),
    cpuRequest: milliOf(own?.requests, 'cpu'),
  };
}

/** Returns the direction of the change. The limit decides; if it is unchanged, the request decides. 0 means none. */
function changeOf(
  resource: ResizedResource,
  { limit, request }: Record<'limit' | 'request', readonly [number, number]>,
): ResourceChange | undefined {
  const [oldLimit, newLimit] = limit.map((amount) => (amount === 0 ? Infinity : amount)) as [number, number];
  if (newLimit !== oldLimit) {
    const down = newLimit < oldLimit;
    return {
      resource,
      direction: down ? 'down' : 'up',
      ...(down && resource === 'memory' ? { lowerLimitBytes: newLimit } : {}),
    };
  }
  const [oldRequest, newRequest] = request;
  return newRequest === oldRequest ? undefined : { resource, direction: newRequest < oldRequest ? 'down' : 'up' };
}

function restartsFor(container: Container, resource: ResizedResource): boolean {
  return (
    container.resizePolicy?.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer'
  );
}

/** Whether the pod-level CPU or memory differs from the record. A pod without them needs no record. */
export function isPodLevelChanged(pod: Pod, actuated: ActuatedFacts): boolean {
  if (actuated.podUnsettled === true) return true;
  const { resources } = pod.spec;
  if (resources === undefined) return false;
  const [wanted, current] = [rawAmounts(resources), rawAmounts(actuated.podLevel)];
  return wanted.some((amount, index) => amount !== current[index]);
}

function rawAmounts(resources: ResourceRequirements | undefined): number[] {
  return [
    bytesOf(resources?.limits, 'memory'),
    bytesOf(resources?.requests, 'memory'),
    milliOf(resources?.limits, 'cpu'),
    milliOf(resources?.requests, 'cpu'),
  ];
}

/** Whether something that runs of the pod does not match its allocation yet (upstream: IsPodResizeInProgress). */
export function isResizeUnderWay(pod: Pod, status: PodRuntimeStatus, actuated: ActuatedFacts): boolean {
  const someContainer = resizable(pod).some((container) => {
    const actual = newestContainer(status, container.name);
    return actual !== undefined && computeContainerResize(pod, container, actual, actuated).kind !== 'none';
  });
  return (
    someContainer ||
    actuated.podUnsettled === true ||
    (pod.spec.resources !== undefined && actuated.podLevel !== undefined && isPodLevelChanged(pod, actuated))
  );
}

/** The results that the planner collects for a resize. */
export interface ResizeDraft {
  readonly updates: { container: Container; actual: ContainerRuntimeStatus; changes: readonly ResourceChange[] }[];
  /** Whether a container restarts for its new resources. */
  restarts: boolean;
}

/**
 * Orders the steps: memory first, then CPU. For each, the pod's cgroup grows before its containers and shrinks after
 * them. Containers that shrink come before those that grow (upstream: doPodResizeAction).
 */
export function computeResizeSteps(draft: ResizeDraft, podLevelChanged: boolean): Step[] {
  return (['memory', 'cpu'] as const).flatMap((resource) => {
    const updates = draft.updates.flatMap(({ actual, changes }) =>
      changes.filter((change) => change.resource === resource).map((change) => ({ actual, change })),
    );
    if (updates.length === 0 && !draft.restarts && !podLevelChanged) return [];
    const lowered = updates.flatMap(({ actual, change }) =>
      change.lowerLimitBytes === undefined
        ? []
        : [{ id: actual.id, name: actual.name, limitBytes: change.lowerLimitBytes }],
    );
    const ordered = [
      ...updates.filter(({ change }) => change.direction === 'down'),
      ...updates.filter(({ change }) => change.direction === 'up'),
    ];
    return [
      { kind: 'resizePod' as const, resource, phase: 'raise' as const, lowered },
      ...ordered.map(({ actual }) => ({
        kind: 'resizeContainer' as const,
        id: actual.id,
        name: actual.name,
        resource,
      })),
      { kind: 'resizePod' as const, resource, phase: 'lower' as const, lowered: [] },
    ];
  });
}
