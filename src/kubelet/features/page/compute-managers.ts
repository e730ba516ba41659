import type { Pod } from '../../../api/core/pod.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PageManagers } from './page-state.ts';

/** The assignments of the node's managers. */
export interface ManagersView {
  /** The CPUs; undefined with the CPU manager's policy `none`, with which every container may use all CPUs. */
  readonly cpus:
    | {
        readonly topology: MachineTopology;
        sharedPool(): ReadonlySet<number>;
        exclusive(uid: PodUid, container: string): ReadonlySet<number> | undefined;
      }
    | undefined;
  readonly devices: {
    /** Returns the devices of a container by resource. */
    devicesOf(uid: PodUid, container: string): ReadonlyMap<string, { readonly ids: readonly string[] }>;
    /** Returns healthy devices by resource, whether in use or not. */
    healthy(): ReadonlyMap<string, readonly { readonly id: string }[]>;
  };
}

type Owner = NonNullable<NonNullable<PageManagers['cpus']>[number]['owner']>;

/** Computes which CPUs and devices belong to which container. */
export function computeManagers({ cpus, devices }: ManagersView, pods: readonly Pod[]): PageManagers {
  const owners = pods.flatMap(({ metadata, spec }) =>
    [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => ({ uid: metadata.uid, container: name })),
  );
  return { ...(cpus !== undefined && { cpus: cpuList(cpus, owners) }), devices: deviceList(devices, owners) };
}

function cpuList(
  { topology, sharedPool, exclusive }: NonNullable<ManagersView['cpus']>,
  owners: readonly Owner[],
): NonNullable<PageManagers['cpus']> {
  const owned = new Map<number, Owner>();
  for (const owner of owners)
    for (const cpu of exclusive(podUid(owner.uid), owner.container) ?? []) owned.set(cpu, owner);
  const shared = sharedPool();
  return topology.nodes.flatMap(({ id: numa, cores }) =>
    cores.flatMap(({ socketId: socket, cpus }) => {
      const core = Math.min(...cpus);
      return cpus.map((cpu) => {
        const owner = owned.get(cpu);
        const place = { cpu, core, socket, numa };
        if (owner !== undefined) return { ...place, use: 'exclusive' as const, owner };
        return { ...place, use: shared.has(cpu) ? ('shared' as const) : ('reserved' as const) };
      });
    }),
  );
}

/**
 * Lists the devices. Unhealthy devices are listed only if a container holds them, because free ones cannot be
 * allocated.
 */
function deviceList(devices: ManagersView['devices'], owners: readonly Owner[]): NonNullable<PageManagers['devices']> {
  const held = new Map<string, Map<string, Owner>>();
  for (const owner of owners)
    for (const [resource, { ids }] of devices.devicesOf(podUid(owner.uid), owner.container)) {
      const known = held.get(resource) ?? new Map<string, Owner>();
      held.set(resource, known);
      for (const id of ids) known.set(id, owner);
    }
  const healthy = new Map(
    [...devices.healthy()].map(([resource, all]) => [resource, new Set(all.map(({ id }) => id))]),
  );
  return [...new Set([...healthy.keys(), ...held.keys()])].sort().flatMap((resource) => {
    const [well, taken] = [healthy.get(resource) ?? new Set<string>(), held.get(resource) ?? new Map<string, Owner>()];
    return [...new Set([...well, ...taken.keys()])]
      .sort()
      .map((id) => ({ resource, id, healthy: well.has(id), owner: taken.get(id) }));
  });
}
