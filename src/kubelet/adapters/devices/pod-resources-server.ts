import type { Clock } from '../../../base/clock.ts';
import { servePodResources } from '../../../devices/pod-resources-server.ts';
import type {
  ContainerDevices,
  ContainerMemory,
  DynamicResource,
  PodResources,
  TopologyInfo,
} from '../../../devices/generated/pod-resources-v1.ts';
import type {
  ContainerResourceUse,
  PodResourcesServer,
  PodResourceUse,
  ResourceClaimUse,
  ResourceDevice,
  ResourceMemory,
} from '../../ports/pod-resources.ts';
import { createRateLimit, exhausted, limitedRate } from './rate-limit.ts';

/** Serves the Pod Resources API over gRPC, v1 and v1alpha1 on the same unix socket. */
export function createPodResourcesServer(clock: Pick<Clock, 'monotonicMs'>): PodResourcesServer {
  return {
    serve(socketPath, api) {
      const takes = createRateLimit({ ...limitedRate, clock });
      const limited = async <Answer>(answer: () => Answer): Promise<Answer> => {
        if (!takes()) throw exhausted('rejected by rate limit');
        return answer();
      };
      return servePodResources(socketPath, {
        v1: {
          list: () => limited(() => ({ podResources: api.list().map(podOf) })),
          get: ({ podName = '', podNamespace = '' }) =>
            limited(() => ({ podResources: podOf(api.get(podNamespace, podName)) })),
          getAllocatableResources: () =>
            limited(() => {
              const { devices, cpus, memory } = api.allocatable();
              return { devices: devices.map(deviceOf), cpuIds: cpus.map(BigInt), memory: memory.map(memoryOf) };
            }),
        },
        v1alpha1: { list: () => limited(() => ({ podResources: api.listOld().map(podOf) })) },
      });
    },
  };
}

function podOf({ name, namespace, containers }: PodResourceUse): PodResources {
  return { name, namespace, containers: containers.map(containerOf) };
}

function containerOf({ name, devices, cpus, memory, claims }: ContainerResourceUse) {
  return {
    name,
    devices: devices.map(deviceOf),
    cpuIds: cpus.map(BigInt),
    memory: memory.map(memoryOf),
    dynamicResources: claims.map(claimOf),
  };
}

/** Returns one message per device, as upstream. */
function deviceOf({ resource, id, numaNodes }: ResourceDevice): ContainerDevices {
  return { resourceName: resource, deviceIds: [id], topology: topologyOf(numaNodes) };
}

function memoryOf({ type, bytes, numaNodes }: ResourceMemory): ContainerMemory {
  return { memoryType: type, size: BigInt(bytes), topology: topologyOf(numaNodes) };
}

function topologyOf(numaNodes: readonly number[]): TopologyInfo | undefined {
  return numaNodes.length === 0 ? undefined : { nodes: numaNodes.map((node) => ({ ID: BigInt(node) })) };
}

function claimOf({ name, namespace, devices }: ResourceClaimUse): DynamicResource {
  return {
    claimName: name,
    claimNamespace: namespace,
    claimResources: devices.map(({ cdiIds, driver, pool, device, shareId }) => ({
      cdiDevices: cdiIds.map((id) => ({ name: id })),
      driverName: driver,
      poolName: pool,
      deviceName: device,
      shareId,
    })),
  };
}
