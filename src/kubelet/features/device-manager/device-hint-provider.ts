import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { HintProvider, NumaMask, ResourceDraft, ResourceHints, TopologyHint } from '../../model/topology-hints.ts';
import { positionsOf } from '../../model/topology-hints.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';
import { computeDeviceHints } from './device-hints.ts';
import type { DeviceRequest } from './device-requests.ts';
import { allocatingContainers, noteReusable } from './device-requests.ts';
import type { TopologyAffinity } from './interfaces.ts';
import { completeSelection } from './select-devices.ts';

/** The part of the device manager's state that hints need. */
export interface DeviceFacts {
  requestsOf(pod: Pod, container: Container): readonly DeviceRequest[];
  devices(resource: string): ReadonlyMap<string, PluginDevice>;
  /** Returns healthy devices that no container has, sorted. */
  free(resource: string): readonly string[];
  held(uid: PodUid, container: string, resource: string): readonly string[] | undefined;
}

/** Stores the NUMA nodes that the topology manager chose for containers whose devices are not allocated yet. */
export class AffinityStore implements TopologyAffinity {
  readonly #chosen = new Map<PodUid, Map<string, readonly number[]>>();

  affinity(uid: PodUid, container: string): readonly number[] | undefined {
    return this.#chosen.get(uid)?.get(container);
  }

  choose(uid: PodUid, container: string, nodes: readonly number[] | undefined): void {
    if (nodes === undefined) return void this.#chosen.get(uid)?.delete(container);
    const known = this.#chosen.get(uid) ?? new Map<string, readonly number[]>();
    known.set(container, nodes);
    this.#chosen.set(uid, known);
  }

  /** Drops pods that were withdrawn before they got devices. */
  retain(uids: ReadonlySet<PodUid>): void {
    for (const uid of [...this.#chosen.keys()]) if (!uids.has(uid)) this.#chosen.delete(uid);
  }

  forget(uid: PodUid): void {
    this.#chosen.delete(uid);
  }
}

/**
 * Supplies topology hints for devices. A draft records the nodes that were chosen for each container. The devices are
 * allocated in the next step of admission, because the plugins must be called.
 */
export class DeviceHintProvider implements HintProvider {
  readonly #facts: DeviceFacts;
  readonly #affinities: AffinityStore;
  readonly #nodeIds: readonly number[];

  constructor(facts: DeviceFacts, affinities: AffinityStore, nodeIds: readonly number[]) {
    this.#facts = facts;
    this.#affinities = affinities;
    this.#nodeIds = nodeIds;
  }

  begin(pod: Pod): ResourceDraft {
    const facts = this.#facts;
    const affinities = this.#affinities;
    const nodeIds = this.#nodeIds;
    const uid = podUid(pod.metadata.uid);
    const taken = new Map<string, Set<string>>();
    const reusable = new Map<string, Set<string>>();
    const free = (resource: string): string[] =>
      facts.free(resource).filter((id) => taken.get(resource)?.has(id) !== true);
    const hints = (resource: string, count: number, held: readonly string[] | undefined) =>
      computeDeviceHints({
        count,
        devices: facts.devices(resource),
        mustUse: held ?? [...(reusable.get(resource) ?? [])].slice(0, count),
        free: held === undefined ? free(resource) : [],
        nodeIds,
      });
    return {
      containerHints: (container) =>
        hintsFor(facts.requestsOf(pod, container), ({ resource, count }) =>
          hints(resource, count, facts.held(uid, container.name, resource)),
        ),
      podHints: () =>
        hintsFor(podRequests(pod, facts), ({ resource, count }) =>
          hints(resource, count, heldByPod(pod, resource, facts)),
        ),
      allocate: (container, affinity) => {
        const nodes = nodesOf(affinity, nodeIds);
        const requests = facts.requestsOf(pod, container);
        if (requests.length > 0) affinities.choose(uid, container.name, nodes);
        const leavesDevices = allocatingContainers(pod).some(
          (one) => one.container.name === container.name && one.leavesDevices,
        );
        for (const { resource, count } of requests) {
          const held = facts.held(uid, container.name, resource);
          const chosen =
            held ??
            idsOf({
              count,
              reusable: reusable.get(resource),
              free: free(resource),
              devices: facts.devices(resource),
              nodes,
            });
          const known = taken.get(resource) ?? new Set<string>();
          for (const id of chosen) known.add(id);
          taken.set(resource, known);
          noteReusable(reusable, { resource, ids: chosen, leavesDevices });
        }
        return undefined;
      },
      commit: () => undefined,
    };
  }
}

function hintsFor(
  requests: readonly DeviceRequest[],
  compute: (request: DeviceRequest) => readonly TopologyHint[] | undefined,
): ResourceHints | undefined {
  const found = requests.flatMap((request): [string, readonly TopologyHint[]][] => {
    const hints = compute(request);
    return hints === undefined ? [] : [[request.resource, hints]];
  });
  return found.length === 0 ? undefined : new Map(found);
}

function nodesOf(affinity: NumaMask | undefined, nodeIds: readonly number[]): readonly number[] | undefined {
  if (affinity === undefined) return undefined;
  return positionsOf(affinity).flatMap((position) => nodeIds[position] ?? []);
}

/**
 * Returns the devices that the allocator would choose without a preference of the plugin, or none if too few are free.
 */
function idsOf(facts: {
  count: number;
  reusable: ReadonlySet<string> | undefined;
  free: readonly string[];
  devices: ReadonlyMap<string, PluginDevice>;
  nodes: readonly number[] | undefined;
}): readonly string[] {
  const { count, reusable, free, devices, nodes } = facts;
  const selected = completeSelection(
    { needed: count, reusable: [...(reusable ?? [])], free, devices, affinity: nodes },
    [],
  );
  return selected.kind === 'chosen' ? selected.ids : [];
}

/**
 * Returns what the containers of a pod request at the same time: sidecars keep running, and init containers end
 * (upstream: getPodDeviceRequest).
 */
function podRequests(pod: Pod, facts: Pick<DeviceFacts, 'requestsOf'>): DeviceRequest[] {
  const staying = new Map<string, number>();
  const most = new Map<string, number>();
  for (const { container, leavesDevices } of allocatingContainers(pod))
    for (const { resource, count } of facts.requestsOf(pod, container)) {
      const together = (staying.get(resource) ?? 0) + count;
      if (!leavesDevices) staying.set(resource, together);
      most.set(resource, Math.max(most.get(resource) ?? 0, together));
    }
  return [...most].map(([resource, count]) => ({ resource, count }));
}

/** Returns the devices of the pod, or undefined if it has none yet. */
function heldByPod(pod: Pod, resource: string, facts: Pick<DeviceFacts, 'held'>): readonly string[] | undefined {
  const uid = podUid(pod.metadata.uid);
  const ids = allocatingContainers(pod).flatMap(({ container }) => facts.held(uid, container.name, resource) ?? []);
  return ids.length === 0 ? undefined : [...new Set(ids)];
}
