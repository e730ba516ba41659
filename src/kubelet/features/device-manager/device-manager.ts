import type { Container } from '../../../api/core/container.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceStatus } from '../../../api/core/pod-status.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';
import { DeviceAllocator, preStart } from './allocate-pod.ts';
import type { DeviceCheckpointData } from './checkpoint-format.ts';
import type { DeviceCheckpoint } from './device-checkpoint.ts';
import type { DeviceCapacity, ResourceDevices } from './device-inventory.ts';
import {
  changedDevices,
  computeDeviceCapacity,
  healthyDevices,
  isExpired,
  isRestored,
  leftResource,
  listedResource,
  nextExpiryMs,
  restoredResource,
} from './device-inventory.ts';
import { allocatingContainers } from './device-requests.ts';
import type { AffinityStore } from './device-hint-provider.ts';
import { DeviceHintProvider } from './device-hint-provider.ts';
import type { DeviceAdmissionStep, DeviceVerdict } from './interfaces.ts';
import type { PluginEndpoints } from './plugin-endpoints.ts';
import type { HeldDevices } from './pod-devices.ts';
import { PodDevices } from './pod-devices.ts';
import type { DeviceRunOptions } from './run-options.ts';
import { computeRunOptions, noRunOptions } from './run-options.ts';

export interface DeviceManagerParts {
  readonly endpoints: (handlers: {
    onDevices: (resource: string, devices: readonly PluginDevice[]) => void;
    onGone: (resource: string) => void;
  }) => PluginEndpoints;
  readonly checkpoint: (snapshot: () => DeviceCheckpointData) => DeviceCheckpoint;
  readonly affinities: AffinityStore;
  /** The ids of the machine's NUMA nodes, sorted. */
  readonly nodeIds: readonly number[];
  /**
   * Returns the pods that may have devices: wanted, not ended and not rejected; undefined before all sources have
   * reported.
   */
  readonly holders: () => ReadonlySet<PodUid> | undefined;
  /** Called when the capacity or the allocatable devices of the node changed. */
  readonly onCapacity: () => void;
  /** Called when the health of a pod's devices changed. */
  readonly onHealth: (uid: PodUid) => void;
  readonly onAllocated: (resource: string, durationMs: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The time limit of the whole step; each call to a plugin has its own. */
const STEP_LIMIT_MS = 10 * 60_000;

/**
 * How long a pod that had devices waits for its plugins after a boot, because both start at the same time. Upstream
 * rejects it immediately.
 */
const RETURN_LIMIT_MS = 10_000;
const RETURN_RETRY_MS = 500;

/**
 * The maximum number of remembered resources, so that plugins that register under ever new names do not fill the
 * memory.
 */
const MAX_KNOWN_RESOURCES = 500;

/**
 * Manages the devices of device plugins on this node, and which container has which (upstream: cm/devicemanager).
 * Invariants:
 * 1. A device belongs to at most one pod. A container keeps its devices as long as its pod is on the node.
 * 2. An allocation is on disk before the pod is admitted.
 * 3. Devices of ended pods are freed when the next pod needs some, but not before all sources have reported.
 * 4. A plugin that hangs or fails delays only the pods that need it.
 */
export class DeviceManager {
  readonly endpoints: PluginEndpoints;
  /** The hints for the topology manager. */
  readonly hints: DeviceHintProvider;
  readonly #parts: DeviceManagerParts;
  readonly #inventory = new Map<string, ResourceDevices>();
  readonly #allocator: DeviceAllocator;
  readonly #checkpoint: DeviceCheckpoint;
  readonly #held = new PodDevices();
  #restoredAtMs = -Infinity;
  #expiry: Timer | undefined;

  constructor(parts: DeviceManagerParts) {
    this.#parts = parts;
    this.endpoints = parts.endpoints({
      onDevices: (resource, devices) => this.#listed(resource, devices),
      onGone: (resource) => this.#gone(resource),
    });
    this.#checkpoint = parts.checkpoint(() => this.#snapshot());
    this.#allocator = new DeviceAllocator({
      inventory: this.#inventory,
      held: this.#held,
      endpoint: (resource) => this.endpoints.get(resource),
      manages: (resource) => this.manages(resource),
      topology: parts.affinities,
      now: () => parts.clock.monotonicMs(),
      onAllocated: parts.onAllocated,
    });
    const facts = {
      requestsOf: (pod: Pod, container: Container) => this.#allocator.requestsOf(pod, container),
      devices: (resource: string) => this.#inventory.get(resource)?.devices ?? new Map<string, PluginDevice>(),
      free: (resource: string) => this.#allocator.free(resource),
      held: (uid: PodUid, container: string, resource: string) => this.#held.get(uid, container, resource)?.ids,
    };
    this.hints = new DeviceHintProvider(facts, parts.affinities, parts.nodeIds);
  }

  /** Restores the state of an earlier run. It must be called before the first pod. */
  restore(data: DeviceCheckpointData): void {
    this.#restoredAtMs = this.#nowMs();
    for (const entry of data.held) this.#held.insert(podUid(entry.uid), entry);
    for (const resource of data.registered.keys())
      if (!this.#inventory.has(resource)) this.#inventory.set(resource, restoredResource(this.#nowMs()));
    this.#awaitExpiry();
  }

  async stop(): Promise<void> {
    this.#expiry?.cancel();
    await this.endpoints.stop();
    await this.#checkpoint.flush();
  }

  /** Whether the resource belongs to a device plugin, or a pod has devices of it (upstream: isDevicePluginResource). */
  manages(resource: string): boolean {
    const known = this.#inventory.get(resource);
    return (known !== undefined && !isExpired(known, this.#nowMs())) || this.#held.counts().has(resource);
  }

  capacity(): DeviceCapacity {
    return computeDeviceCapacity(this.#inventory, this.#nowMs());
  }

  /**
   * Returns the node for admission, without the resources that this manager accounts for (upstream:
   * sanitizeNodeAllocatable). The manager knows which devices are free, even while a plugin is disconnected. If the
   * plugin of a resource has left permanently, the amount is zero, so that no pod starts without its devices.
   */
  withoutDevices(node: Node): Node {
    const { allocatable } = node.status ?? {};
    if (allocatable === undefined || this.#inventory.size === 0) return node;
    const others = Object.entries(allocatable).filter(([resource]) => !this.manages(resource));
    const gone = this.capacity().removed.filter((resource) => !this.manages(resource));
    const none = gone.map((resource): [string, string] => [resource, '0']);
    return { ...node, status: { ...node.status, allocatable: Object.fromEntries([...others, ...none]) } };
  }

  /** Returns the steps of admission; none for a pod that requests no devices. */
  steps(pod: Pod): readonly DeviceAdmissionStep[] {
    const needs = allocatingContainers(pod).some(
      ({ container }) => this.#allocator.requestsOf(pod, container).length > 0,
    );
    if (!needs) return [];
    return [{ name: 'devices', timeoutMs: STEP_LIMIT_MS, admit: ({ pod: now }, signal) => this.#admit(now, signal) }];
  }

  /**
   * Returns what a container needs to use its devices. It is called before each start of the container. A container
   * whose allocation was lost gets devices again. Rejects if a plugin refuses.
   */
  async runOptions(pod: Pod, container: Container, signal: AbortSignal): Promise<DeviceRunOptions> {
    const uid = podUid(pod.metadata.uid);
    const requests = this.#allocator.requestsOf(pod, container);
    if (requests.length === 0) return noRunOptions;
    if (requests.some(({ resource }) => this.#held.get(uid, container.name, resource) === undefined)) {
      this.releaseInactive();
      await this.#allocator.allocate(pod, signal);
      await this.#checkpoint.save();
    }
    const resources = requests.map(({ resource }) => resource);
    const endpoint = (resource: string) => this.endpoints.get(resource);
    await preStart({ held: this.#held, endpoint }, { uid, container: container.name, resources, signal });
    return computeRunOptions(this.#held.ofContainer(uid, container.name));
  }

  /** Whether `runOptions` must be called for the container. */
  needsDevices(pod: Pod, container: Container): boolean {
    return this.#allocator.requestsOf(pod, container).length > 0;
  }

  /** Returns the health of a container's devices, for its status; undefined if it has none. */
  health(uid: PodUid, container: string): ResourceStatus[] | undefined {
    const held = this.#held.ofContainer(uid, container);
    if (held.size === 0) return undefined;
    return [...held]
      .map(([name, { ids }]) => {
        const known = this.#inventory.get(name)?.devices;
        const resources = ids.map((id) => ({
          resourceID: id,
          health: known?.get(id)?.healthy === false ? ('Unhealthy' as const) : ('Healthy' as const),
        }));
        return { name, resources };
      })
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** Returns the devices of a container by resource. */
  devicesOf(uid: PodUid, container: string): ReadonlyMap<string, HeldDevices> {
    return this.#held.ofContainer(uid, container);
  }

  /** Returns healthy devices by resource, whether in use or not. */
  healthy(): ReadonlyMap<string, readonly PluginDevice[]> {
    return new Map(
      [...this.#inventory].map(([resource, { devices }]) => [
        resource,
        [...devices.values()].filter(({ healthy }) => healthy),
      ]),
    );
  }

  /** Frees the devices of ended pods (upstream: UpdateAllocatedDevices). */
  releaseInactive(): void {
    const uids = this.#parts.holders();
    if (uids === undefined) return;
    const gone = this.#held.pods().filter((uid) => !uids.has(uid));
    for (const uid of gone) this.#held.remove(uid);
    this.#parts.affinities.retain(uids);
    if (gone.length > 0) this.#checkpoint.changed();
  }

  async #admit(pod: Pod, signal: AbortSignal): Promise<DeviceVerdict> {
    this.releaseInactive();
    try {
      await this.#allocator.allocate(pod, signal);
      // The write includes allocations that an earlier attempt could not write.
      await this.#checkpoint.save();
      this.#parts.affinities.forget(podUid(pod.metadata.uid));
      return { kind: 'admit' };
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      const why = errorMessage(error);
      if (!isKind(error, 'Timeout') && !isKind(error, 'Unavailable')) {
        if (this.#mayReturn(pod)) return { kind: 'hold', why, retryAfterMs: RETURN_RETRY_MS };
        this.#held.remove(podUid(pod.metadata.uid));
        this.#parts.affinities.forget(podUid(pod.metadata.uid));
        return {
          kind: 'reject',
          reason: podReasons.unexpectedAdmissionError,
          message: `Allocate failed due to ${why}, which is unexpected`,
        };
      }
      return { kind: 'hold', why };
    }
  }

  /** Whether the pod has devices of an earlier run whose plugin may still register. */
  #mayReturn(pod: Pod): boolean {
    if (this.#nowMs() - this.#restoredAtMs > RETURN_LIMIT_MS) return false;
    const uid = podUid(pod.metadata.uid);
    return allocatingContainers(pod).some(({ container }) =>
      [...this.#held.ofContainer(uid, container.name).keys()].some((resource) => {
        const known = this.#inventory.get(resource);
        return known !== undefined && isRestored(known);
      }),
    );
  }

  #listed(resource: string, devices: readonly PluginDevice[]): void {
    const before = this.#inventory.get(resource);
    const after = listedResource(devices);
    if (before === undefined && this.#inventory.size >= MAX_KNOWN_RESOURCES) this.#forgetExpired();
    this.#inventory.set(resource, after);
    this.#changed(resource, before, after);
  }

  #forgetExpired(): void {
    const nowMs = this.#nowMs();
    for (const [name, resource] of this.#inventory) if (isExpired(resource, nowMs)) this.#inventory.delete(name);
  }

  #gone(resource: string): void {
    const before = this.#inventory.get(resource);
    const after = leftResource(before ?? restoredResource(this.#nowMs()), this.#nowMs());
    this.#inventory.set(resource, after);
    this.#changed(resource, before, after);
  }

  #changed(resource: string, before: ResourceDevices | undefined, after: ResourceDevices): void {
    const used = this.#held.inUse(resource);
    const pods = new Set(changedDevices(before, after).map((id) => used.get(id)));
    for (const uid of pods) if (uid !== undefined) this.#parts.onHealth(uid);
    this.#checkpoint.changed();
    this.#awaitExpiry();
    this.#parts.onCapacity();
  }

  #awaitExpiry(): void {
    this.#expiry?.cancel();
    this.#expiry = undefined;
    const nowMs = this.#nowMs();
    const pending = new Map([...this.#inventory].filter(([, resource]) => !isExpired(resource, nowMs)));
    const atMs = nextExpiryMs(pending);
    if (atMs === undefined) return;
    this.#expiry = this.#parts.clock.setTimer(atMs - nowMs + 1, () => {
      this.#checkpoint.changed();
      this.#awaitExpiry();
      this.#parts.onCapacity();
    });
  }

  /**
   * Returns the content of the checkpoint. It includes resources whose plugins left: an agent that forgot them would
   * start pods without their devices.
   */
  #snapshot(): DeviceCheckpointData {
    const registered = [...this.#inventory].map(([name, resource]): [string, string[]] => [
      name,
      healthyDevices(resource),
    ]);
    return { held: this.#held.entries(), registered: new Map(registered) };
  }

  #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }
}
