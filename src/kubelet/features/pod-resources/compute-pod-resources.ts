import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type {
  ContainerResourceUse,
  PodResourceUse,
  ResourceClaimUse,
  ResourceDevice,
  ResourceMemory,
} from '../../ports/pod-resources.ts';

/** The devices of device plugins that a container has. */
export interface DeviceUse {
  /** Returns the devices by resource. Devices without topology are listed under node -1. */
  devicesOf(
    uid: PodUid,
    container: string,
  ): ReadonlyMap<string, { readonly ids: readonly string[]; readonly byNode: ReadonlyMap<number, readonly string[]> }>;
}

/** What the node's managers allocated to containers. A manager that is off allocates nothing. */
export interface ResourceUse {
  readonly devices: DeviceUse;
  readonly cpus?: { exclusive(uid: PodUid, container: string): readonly number[] };
  readonly memory?: { blocks(uid: PodUid, container: string): readonly ResourceMemory[] };
  readonly claims?: { usedBy(pod: Pod, container: Container): readonly ResourceClaimUse[] };
}

/** Returns the containers that may run now: sidecars, then regular containers (upstream: server_v1.go List). */
export function computePodResources(pod: Pod, use: ResourceUse): PodResourceUse {
  const sidecars = (pod.spec.initContainers ?? []).filter(isRestartableInit);
  return withContainers(pod, [...sidecars, ...pod.spec.containers], use);
}

/** Returns the answer of v1alpha1, which has regular containers only. */
export function computeOldPodResources(pod: Pod, use: ResourceUse): PodResourceUse {
  return withContainers(pod, pod.spec.containers, use);
}

function withContainers(pod: Pod, containers: readonly Container[], use: ResourceUse): PodResourceUse {
  const { name, namespace } = pod.metadata;
  return { name, namespace, containers: containers.map((container) => containerUse(pod, container, use)) };
}

function containerUse(pod: Pod, container: Container, use: ResourceUse): ContainerResourceUse {
  const uid = podUid(pod.metadata.uid);
  const { name } = container;
  return {
    name,
    devices: devicesOf(use.devices, uid, name),
    cpus: use.cpus?.exclusive(uid, name) ?? [],
    memory: use.memory?.blocks(uid, name) ?? [],
    claims: use.claims?.usedBy(pod, container) ?? [],
  };
}

function devicesOf(devices: DeviceUse, uid: PodUid, container: string): ResourceDevice[] {
  return [...devices.devicesOf(uid, container)].flatMap(([resource, { ids, byNode }]) => {
    const nodes = new Map<string, number[]>();
    for (const [node, near] of byNode)
      if (node >= 0) for (const id of near) nodes.set(id, [...(nodes.get(id) ?? []), node]);
    return ids.map((id) => ({ resource, id, numaNodes: nodes.get(id) ?? [] }));
  });
}
