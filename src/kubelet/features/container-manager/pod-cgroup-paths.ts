import type { Pod } from '../../../api/core/pod.ts';
import { podQos } from '../../../api/qos.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { podUid } from '../../model/ids.ts';
import { podCgroupName, qosGroups } from './qos-tree.ts';

/** Paths of pod cgroups in the cgroup file system. */
export interface PodCgroupPaths {
  of(pod: Pod): string;
  /** The cgroup of all pods, then the cgroups of the QoS classes below it. */
  readonly top: readonly string[];
}

/**
 * Returns the cgroup paths of pods; undefined if pods have no cgroups of their own (cgroupsPerQOS is off). `kernelPath`
 * translates the agent's name of a cgroup to a path. The two differ with the systemd driver.
 */
export function podCgroupPaths(
  { perQos, root }: Pick<KubeletConfig['cgroups'], 'perQos' | 'root'>,
  kernelPath: (name: string) => string,
): PodCgroupPaths | undefined {
  const groups = qosGroups({ cgroupsPerQOS: perQos, cgroupRoot: root });
  if (groups === undefined) return undefined;
  return {
    of: (pod) => kernelPath(podCgroupName(groups, podQos(pod), podUid(pod.metadata.uid))),
    top: [groups.guaranteed, groups.bestEffort, groups.burstable].map(kernelPath),
  };
}
