import type { LinuxContainerResources } from '../../cri/generated/cri-v1.ts';
import type { DockerResources } from '../engine/docker-types.ts';

/**
 * Zero means "not set" in the CRI and is left out. Swap: the kubelet's limit counts memory and swap together, as
 * Docker's does; without one, a memory limit allows no swap (cri-dockerd: core/helpers_linux.go).
 */
export function dockerResources(resources: LinuxContainerResources | undefined): DockerResources {
  if (resources === undefined) return {};
  const memory = Number(resources.memoryLimitInBytes);
  const swap = Number(resources.memorySwapLimitInBytes);
  return {
    ...positive('CpuShares', resources.cpuShares),
    ...positive('CpuPeriod', resources.cpuPeriod),
    ...(resources.cpuQuota === 0n ? {} : { CpuQuota: Number(resources.cpuQuota) }),
    ...(resources.cpusetCpus === '' ? {} : { CpusetCpus: resources.cpusetCpus }),
    ...(resources.cpusetMems === '' ? {} : { CpusetMems: resources.cpusetMems }),
    ...(memory > 0 && { Memory: memory, MemorySwap: swap === 0 ? memory : swap }),
  };
}

function positive<Name extends string>(name: Name, value: bigint): { readonly [K in Name]?: number } {
  return (value > 0n ? { [name]: Number(value) } : {}) as { readonly [K in Name]?: number };
}

/** The resources of a container in the CRI's terms. */
export function criResources(
  host: DockerResources & { readonly OomScoreAdj?: number },
): Partial<LinuxContainerResources> {
  return {
    cpuPeriod: BigInt(host.CpuPeriod ?? 0),
    cpuQuota: BigInt(host.CpuQuota ?? 0),
    cpuShares: BigInt(host.CpuShares ?? 0),
    memoryLimitInBytes: BigInt(host.Memory ?? 0),
    memorySwapLimitInBytes: BigInt(host.MemorySwap ?? 0),
    cpusetCpus: host.CpusetCpus ?? '',
    cpusetMems: host.CpusetMems ?? '',
    oomScoreAdj: BigInt(host.OomScoreAdj ?? 0),
  };
}
