import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import { allocationProblem } from './check-registration.ts';
import type { Inventory } from './device-inventory.ts';
import { healthyDevices } from './device-inventory.ts';
import type { DeviceRequest, Reusable } from './device-requests.ts';
import { allocatingContainers, deviceRequests, isClaimedResource, noteReusable } from './device-requests.ts';
import type { TopologyAffinity } from './interfaces.ts';
import type { PluginEndpoint } from './plugin-endpoints.ts';
import type { PodDevices } from './pod-devices.ts';
import { heldDevices } from './pod-devices.ts';
import type { SelectionFacts } from './select-devices.ts';
import { completeSelection, selectDevices } from './select-devices.ts';

export interface DeviceAllocatorParts {
  readonly inventory: Inventory;
  readonly held: PodDevices;
  readonly endpoint: (resource: string) => PluginEndpoint | undefined;
  /** Whether the resource belongs to a device plugin, or did when a pod was allocated some of it. */
  readonly manages: (resource: string) => boolean;
  readonly topology: TopologyAffinity | undefined;
  readonly now: () => number;
  readonly onAllocated: (resource: string, durationMs: number) => void;
}

interface Target {
  readonly pod: Pod;
  readonly container: Container;
  readonly signal: AbortSignal;
}

/** The time limit of a plugin's response. Upstream waits without a limit. */
const CALL_LIMIT_MS = 60_000;

/**
 * Allocates the devices of pods. Invariants:
 * 1. A chosen device is reserved before the plugin is called, so that two pods never get the same one.
 * 2. Devices that a container already has are never allocated again.
 * 3. A slow plugin delays only the pods that need it, and no other plugin.
 */
export class DeviceAllocator {
  readonly #parts: DeviceAllocatorParts;
  /** Chosen devices whose plugin has not responded yet, by resource. */
  readonly #reserved = new Map<string, Set<string>>();

  constructor(parts: DeviceAllocatorParts) {
    this.#parts = parts;
  }

  /** Allocates the devices of the pod. Rejects with upstream's message; devices allocated until then stay allocated. */
  async allocate(pod: Pod, signal: AbortSignal): Promise<void> {
    const reusable: Reusable = new Map();
    for (const { container, leavesDevices } of allocatingContainers(pod)) {
      const target = { pod, container, signal };
      for (const request of this.requestsOf(pod, container))
        await this.#allocate(target, request, [...(reusable.get(request.resource) ?? [])]);
      const own = this.#parts.held.ofContainer(podUid(pod.metadata.uid), container.name);
      for (const [resource, { ids }] of own) noteReusable(reusable, { resource, ids, leavesDevices });
    }
  }

  /** Returns healthy devices that are neither allocated nor reserved, sorted. */
  free(resource: string): string[] {
    const used = this.#parts.held.inUse(resource);
    const reserved = this.#reserved.get(resource);
    return healthyDevices(this.#parts.inventory.get(resource)).filter(
      (id) => !used.has(id) && reserved?.has(id) !== true,
    );
  }

  /** Returns what the container requests from device plugins. */
  requestsOf(pod: Pod, container: Container): DeviceRequest[] {
    return deviceRequests(container).filter(
      ({ resource }) => this.#parts.manages(resource) && !isClaimedResource(pod, container.name, resource),
    );
  }

  async #allocate(target: Target, request: DeviceRequest, reusable: readonly string[]): Promise<void> {
    const { held, inventory } = this.#parts;
    const uid = podUid(target.pod.metadata.uid);
    const { resource, count } = request;
    const { name } = target.container;
    const has = held.get(uid, name, resource)?.ids;
    if (has !== undefined && has.length !== count)
      throw refusal(
        `pod ${JSON.stringify(uid)} container ${JSON.stringify(name)} changed request for resource ${JSON.stringify(resource)} from ${has.length} to ${count}`,
      );
    const known = inventory.get(resource);
    if (known === undefined) throw refusal(`cannot allocate unregistered device ${resource}`);
    const healthy = new Set(healthyDevices(known));
    if (healthy.size === 0) throw refusal(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    if (has?.some((id) => !healthy.has(id)) === true)
      throw refusal(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
    if (has !== undefined) return;
    const ids = await this.#choose(target, request, reusable);
    await this.#call(target, request.resource, ids);
  }

  /** Chooses devices. They are reserved when the promise resolves. */
  async #choose(
    target: Target,
    { resource, count }: DeviceRequest,
    reusable: readonly string[],
  ): Promise<readonly string[]> {
    const facts = (): SelectionFacts => this.#facts(target, { resource, count }, reusable);
    let selection = selectDevices(facts());
    if (selection.kind === 'ask') {
      const { available, mustInclude } = selection;
      const preferred = await this.#preferred(target, resource, { available, mustInclude, size: count });
      // Other pods may have been allocated devices in the meantime.
      selection = completeSelection(facts(), preferred);
    }
    if (selection.kind === 'short')
      throw refusal(
        `requested number of devices unavailable for ${resource}. Requested: ${selection.requested}, Available: ${selection.available}`,
      );
    const reserved = this.#reserved.get(resource) ?? new Set<string>();
    for (const id of selection.ids) reserved.add(id);
    this.#reserved.set(resource, reserved);
    return selection.ids;
  }

  #facts({ pod, container }: Target, { resource, count }: DeviceRequest, reusable: readonly string[]): SelectionFacts {
    const { inventory, topology } = this.#parts;
    return {
      needed: count,
      reusable,
      free: this.free(resource),
      devices: inventory.get(resource)?.devices ?? new Map(),
      affinity: topology?.affinity(podUid(pod.metadata.uid), container.name),
    };
  }

  async #preferred(
    { signal }: Target,
    resource: string,
    request: { available: readonly string[]; mustInclude: readonly string[]; size: number },
  ): Promise<readonly string[]> {
    const endpoint = this.#parts.endpoint(resource);
    if (endpoint?.options.preferredAllocationAvailable !== true) return [];
    try {
      return await endpoint.connection.preferredAllocation(request, { timeoutMs: CALL_LIMIT_MS, signal });
    } catch (error) {
      throw failed(error, `device plugin GetPreferredAllocation rpc failed with err: ${errorMessage(error)}`);
    }
  }

  async #call({ pod, container, signal }: Target, resource: string, ids: readonly string[]): Promise<void> {
    const { endpoint, held, inventory, now, onAllocated } = this.#parts;
    const fromMs = now();
    try {
      const plugin = endpoint(resource);
      if (plugin === undefined) throw refusal(`endpoint ${resource} has been stopped`);
      const allocation = await plugin.connection.allocate(ids, { timeoutMs: CALL_LIMIT_MS, signal });
      onAllocated(resource, now() - fromMs);
      if (allocation === undefined) throw refusal('no containers return in allocation response {}');
      const problem = allocationProblem(allocation);
      if (problem !== undefined)
        throw refusal(`the response of device plugin ${resource} to Allocate cannot be used: ${problem}`);
      const devices = inventory.get(resource)?.devices ?? new Map();
      held.insert(podUid(pod.metadata.uid), {
        container: container.name,
        resource,
        held: heldDevices(ids, devices, allocation),
      });
    } finally {
      const reserved = this.#reserved.get(resource);
      for (const id of ids) reserved?.delete(id);
    }
  }
}

/** Calls PreStartContainer of each plugin that requires it (upstream: callPreStartContainerIfNeeded). */
export async function preStart(
  { held, endpoint }: Pick<DeviceAllocatorParts, 'held' | 'endpoint'>,
  {
    uid,
    container,
    resources,
    signal,
  }: { uid: PodUid; container: string; resources: readonly string[]; signal: AbortSignal },
): Promise<void> {
  for (const resource of resources) {
    const plugin = endpoint(resource);
    if (plugin?.options.preStartRequired !== true) continue;
    const ids = held.get(uid, container, resource)?.ids;
    if (ids === undefined) continue;
    try {
      await plugin.connection.preStart(ids, { timeoutMs: PRE_START_LIMIT_MS, signal });
    } catch (error) {
      throw failed(error, `device plugin PreStartContainer rpc failed with err: ${errorMessage(error)}`);
    }
  }
}

/** The time limit of PreStartContainer (upstream: v1beta1 KubeletPreStartContainerRPCTimeoutInSecs). */
const PRE_START_LIMIT_MS = 30_000;

function refusal(message: string): KubeletError {
  return new KubeletError('Conflict', message, { op: 'allocate devices' });
}

function failed(error: unknown, message: string): KubeletError {
  const kind = isKind(error, 'Aborted') ? 'Aborted' : isKind(error, 'Timeout') ? 'Timeout' : 'Internal';
  return new KubeletError(kind, message, { op: 'allocate devices', cause: error });
}
