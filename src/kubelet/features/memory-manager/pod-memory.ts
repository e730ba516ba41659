import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { AllocationProblem } from '../../model/topology-hints.ts';
import type { MemoryRequest } from './memory-hints.ts';
import type { RequestRules } from './memory-request.ts';
import { memoryRequest, podMemoryRequest } from './memory-request.ts';

/** The memory of one container of a pod that has memory as a whole. */
export interface MemoryShare {
  /** Bytes by resource; zero amounts are left out. */
  readonly amounts: MemoryRequest;
  readonly isExclusive: boolean;
}

/**
 * Returns why the memory of the pod cannot be divided: its exclusive containers leave nothing for the others (upstream:
 * memorymanager/policy_static.go validatePodScopeResources).
 */
export function emptyMemoryProblem(rules: RequestRules, pod: Pod): AllocationProblem | undefined {
  const total = podMemoryRequest(rules, pod);
  const refused = (message: string): AllocationProblem => ({ reason: podReasons.emptyPodSharedPoolError, message });
  const longRunning = new Map<string, number>();
  const usedUp = (): string | undefined =>
    [...total].find(([resource, bytes]) => (longRunning.get(resource) ?? 0) >= bytes)?.[0];
  let hasShared = false;
  const note = (container: Container): void => {
    const request = memoryRequest(rules, pod, container);
    hasShared ||= request.size === 0;
    addTo(longRunning, request);
  };
  for (const container of pod.spec.initContainers ?? []) {
    if (isRestartableInit(container)) note(container);
    else if (memoryRequest(rules, pod, container).size === 0 && usedUp() !== undefined)
      return refused(`pod rejected, pod has shared init containers but no ${usedUp()} available for them`);
  }
  for (const container of pod.spec.containers) note(container);
  return hasShared && usedUp() !== undefined
    ? refused(
        `pod rejected, sum of exclusive container ${usedUp()} requests equals pod budget, leaving no memory for shared containers`,
      )
    : undefined;
}

/**
 * Divides what the pod requests among its containers (upstream: memorymanager/policy_static.go AllocatePod). Init
 * containers may use what the sidecars before them leave. Containers without exclusive memory share the rest.
 */
export function divideMemory(rules: RequestRules, pod: Pod): ReadonlyMap<string, MemoryShare> {
  const total = podMemoryRequest(rules, pod);
  const inits = pod.spec.initContainers ?? [];
  const shares = new Map<string, MemoryShare>();
  const used = new Map<string, number>();
  const left = (): MemoryRequest =>
    positive(new Map([...total].map(([resource, bytes]) => [resource, bytes - (used.get(resource) ?? 0)])));
  for (const container of [...inits, ...pod.spec.containers]) {
    const request = memoryRequest(rules, pod, container);
    const ends = inits.includes(container) && !isRestartableInit(container);
    if (request.size > 0) shares.set(container.name, { amounts: positive(request), isExclusive: true });
    else if (ends) shares.set(container.name, { amounts: left(), isExclusive: false });
    if (!ends) addTo(used, request);
  }
  for (const { name } of [...inits, ...pod.spec.containers])
    if (!shares.has(name)) shares.set(name, { amounts: left(), isExclusive: false });
  return shares;
}

const positive = (amounts: MemoryRequest): MemoryRequest => new Map([...amounts].filter(([, bytes]) => bytes > 0));

function addTo(sums: Map<string, number>, amounts: MemoryRequest): void {
  for (const [resource, bytes] of amounts) sums.set(resource, (sums.get(resource) ?? 0) + bytes);
}
