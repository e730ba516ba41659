import type { TreeUse } from '../../ports/stats.ts';
import type { DiskFacts } from './disk-facts.ts';
import { sumOfTrees } from './group-json.ts';
import type { MeasuredPod } from './pod-groups.ts';

/** What a pod uses of the node's own disks. */
export interface PodDiskUse {
  /** The writable layers of the pod's running containers, by container. */
  readonly layers: ReadonlyMap<string, TreeUse>;
  readonly logs: ReadonlyMap<string, TreeUse>;
  /** The volumes on the node's disks or in its memory, by volume. */
  readonly volumes: ReadonlyMap<string, TreeUse>;
  /** What counts against the pod's ephemeral storage (upstream: calcEphemeralStorage). */
  readonly total: TreeUse;
}

/** Returns the usage at the last measurement. */
export function podDiskUse({ uid, containers }: Pick<MeasuredPod, 'uid' | 'containers'>, disks: DiskFacts): PodDiskUse {
  const own = disks.pods.get(uid);
  const layers = new Map(
    containers.flatMap(({ id, name }) => {
      const layer = disks.layers.get(id);
      return layer === undefined ? [] : [[name, layer] as const];
    }),
  );
  const local = (disks.volumes.get(uid) ?? []).filter(({ volume }) => volume.how === 'tree');
  const treeOf = ({ usage, atMs }: (typeof local)[number]): TreeUse => ({
    atMs,
    usedBytes: usage.usedBytes ?? 0,
    inodesUsed: usage.inodesUsed ?? 0,
  });
  const ephemeral = local.filter(({ volume }) => volume.ephemeral).map(treeOf);
  const logs = own?.logs ?? new Map<string, TreeUse>();
  return {
    layers,
    logs,
    volumes: new Map(local.map((fact) => [fact.volume.name, treeOf(fact)])),
    total: sumOfTrees(...layers.values(), ...logs.values(), own?.ownLogs, ...(own?.ownFiles ?? []), ...ephemeral),
  };
}

/** Measures these pods now, and waits for the result. */
export async function measureDiskUse(
  provider: { measuredPods(): MeasuredPod[] },
  disks: DiskFacts,
  uids: Pick<ReadonlySet<string>, 'has'>,
): Promise<ReadonlyMap<string, PodDiskUse>> {
  const pods = provider.measuredPods().filter(({ uid }) => uids.has(uid));
  await disks.measureLocal(pods);
  return new Map(pods.map((pod) => [pod.uid, podDiskUse(pod, disks)]));
}
