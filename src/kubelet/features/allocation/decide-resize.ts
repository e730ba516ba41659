import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { isStaticPod, podPriority } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { resizable } from '../../../api/pod-allocation.ts';
import { podQos } from '../../../api/qos.ts';
import { compareQuantities, quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';
import { validateResize } from '../../../api/validation/pod/validate-resize.ts';
import type { SwapNode } from '../../model/swap.ts';
import { mayUseSwap } from '../../model/swap.ts';

/** The properties of the node that determine whether a resize is possible at all. */
export interface ResizeNode extends SwapNode {
  readonly allocatable: ResourceList;
  /** The policies that pin containers to CPUs or memory. */
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  /** The gate PodLevelResourceManagers, with which managers allocate CPUs and memory to the pod as a whole. */
  readonly podLevelManagers: boolean;
}

export interface ResizeFacts {
  /** The pod with the resources that its source requests. */
  readonly desired: Pod;
  /** The pod with its allocated resources. */
  readonly allocated: Pod;
  readonly node: ResizeNode;
  /** Returns why the pod would not fit beside the others now, or undefined when it fits. */
  readonly misfit: (pod: Pod) => { reason: string; message: string } | undefined;
}

/**
 * The decision about a resize. `reason` is the reason of the refusal, and that of the predicate if the resize is
 * deferred.
 */
export type ResizeDecision =
  | { kind: 'allocated' }
  | { kind: 'deferred' | 'infeasible'; reason: string; message: string; cause?: InfeasibleCause };

/**
 * The causes that upstream's metric counts (allocation/handlers.go). Upstream has no cause for a resize that the API
 * server would have refused.
 */
export type InfeasibleCause =
  | 'swap_limitation'
  | 'guaranteed_pod_cpu_manager_static_policy'
  | 'guaranteed_pod_memory_manager_static_policy';

interface Problem {
  readonly message: string;
  readonly cause?: InfeasibleCause;
}

/**
 * Decides whether a running pod may have the resources that its source now requests (upstream: allocation/handlers.go
 * and the admission handlers). A resize that can never succeed is infeasible, and one that does not fit now is
 * deferred. A resize of a static pod is infeasible if the API server would have refused it.
 */
export function decideResize({ desired, allocated, node, misfit }: ResizeFacts): ResizeDecision {
  const problem =
    (isStaticPod(desired) ? refusedByApi(desired, allocated, node) : undefined) ??
    refusedBySwap(desired, allocated, node) ??
    refusedByPinning(desired, allocated, node);
  if (problem !== undefined) return { kind: 'infeasible', reason: 'Infeasible', ...problem };
  const other = misfit(desired);
  if (other === undefined) return { kind: 'allocated' };
  return { kind: other.reason === 'Infeasible' ? 'infeasible' : 'deferred', ...other };
}

function refusedByApi(desired: Pod, allocated: Pod, node: ResizeNode): Problem | undefined {
  const errors = validateResize(allocated, desired);
  if (errors.length > 0) return { message: errors.map(({ field, message }) => `${field}: ${message}`).join(', ') };
  // Upstream: admission plugin podresize.
  const requests = podRequests(desired);
  const over: string[] = [];
  if (exceeds(requests, node.allocatable, 'cpu'))
    over.push(
      `cpu, requested: ${quantityMilliValue(requests['cpu'] ?? '0')}, allocatable: ${quantityMilliValue(node.allocatable['cpu'] ?? '0')}`,
    );
  if (exceeds(requests, node.allocatable, 'memory'))
    over.push(
      `memory, requested: ${quantityValue(requests['memory'] ?? '0')}, allocatable: ${quantityValue(node.allocatable['memory'] ?? '0')}`,
    );
  return over.length === 0
    ? undefined
    : { message: `node didn't have enough allocatable resources: ${over.join('; ')}` };
}

function refusedBySwap(desired: Pod, allocated: Pod, node: ResizeNode): Problem | undefined {
  for (const container of resizable(desired)) {
    const before = resizable(allocated).find(({ name }) => name === container.name);
    if (before === undefined || sameAmount(before, container, 'memory') || restartsFor(before, 'memory')) continue;
    if (mayUseSwap(desired, container, node) || mayUseSwap(allocated, before, node))
      return { message: 'In-place resize of containers with swap is not supported.', cause: 'swap_limitation' };
  }
  return undefined;
}

function refusedByPinning(desired: Pod, allocated: Pod, node: ResizeNode): Problem | undefined {
  if (podQos(desired) !== 'Guaranteed') return undefined;
  const changes = (name: 'cpu' | 'memory'): boolean =>
    resizable(desired).some((container) => {
      const before = resizable(allocated).find((one) => one.name === container.name);
      return before !== undefined && !sameAmount(before, container, name);
    });
  // The pool of a pod never changes while the pod exists. Upstream checks containers only.
  const changesPool = (name: 'cpu' | 'memory'): boolean =>
    node.podLevelManagers && !sameAmount(allocated.spec, desired.spec, name);
  if (node.cpuManagerPolicy === 'static' && (changes('cpu') || changesPool('cpu')))
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
      cause: 'guaranteed_pod_cpu_manager_static_policy',
    };
  if (node.memoryManagerPolicy === 'Static' && (changes('memory') || changesPool('memory')))
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
      cause: 'guaranteed_pod_memory_manager_static_policy',
    };
  return undefined;
}

function restartsFor(
  container: { resizePolicy?: readonly { resourceName: string; restartPolicy: string }[] },
  resource: string,
): boolean {
  return (
    container.resizePolicy?.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer'
  );
}

function sameAmount(
  left: Pick<AnyContainer, 'resources'>,
  right: Pick<AnyContainer, 'resources'>,
  name: string,
): boolean {
  return compareQuantities(left.resources?.requests?.[name] ?? '0', right.resources?.requests?.[name] ?? '0') === 0;
}

function exceeds(requests: ResourceList, most: ResourceList, name: string): boolean {
  return most[name] !== undefined && compareQuantities(requests[name] ?? '0', most[name]) > 0;
}

/** Whether the pod as a whole requests more CPU or memory than it has allocated. */
function asksForMore(desired: Pod, allocated: Pod): boolean {
  const [now, before] = [podRequests(desired), podRequests(allocated)];
  return (['cpu', 'memory'] as const).some((name) => compareQuantities(now[name] ?? '0', before[name] ?? '0') > 0);
}

export interface PendingResize {
  readonly desired: Pod;
  readonly allocated: Pod;
  /**
   * The wall-clock time in milliseconds since when the resize is reported as pending; undefined before the first try.
   */
  readonly sinceMs: number | undefined;
}

/**
 * Sorts pending resizes into the order of tries: resizes that request no more first, then by priority, then guaranteed
 * pods, then by waiting time.
 */
export function rankPending(pending: readonly PendingResize[]): PendingResize[] {
  const key = ({ desired, allocated, sinceMs }: PendingResize): number[] => [
    asksForMore(desired, allocated) ? 1 : 0,
    -podPriority(desired),
    podQos(desired) === 'Guaranteed' ? 0 : 1,
    sinceMs ?? Number.MAX_SAFE_INTEGER,
  ];
  return pending.toSorted((left, right) => {
    const [one, other] = [key(left), key(right)];
    const at = one.findIndex((value, index) => value !== other[index]);
    return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
  });
}
