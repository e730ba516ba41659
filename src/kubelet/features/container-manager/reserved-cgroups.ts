import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { groupLimitsOf } from '../../model/group-limits.ts';
import type { CgroupLimits, Cgroups } from '../../ports/cgroups.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';

/** The limits of a cgroup that the operator created for processes outside of pods. */
export interface ReservedGroup {
  readonly owner: 'System' | 'Kube';
  /** Whether only CPU is limited. */
  readonly compressible: boolean;
  /** The name in the configuration. */
  readonly group: string;
  /** The agent's name of the same cgroup. */
  readonly name: string;
  /** The limits; undefined if the reservation contains no resource that can be limited. */
  readonly limits: CgroupLimits | undefined;
}

/**
 * Computes the groups, in upstream's order (upstream: node_container_manager_linux.go enforceNodeAllocatableCgroups).
 */
export function computeReservedGroups(
  reserved: KubeletConfig['reserved'],
  on: { readonly driver: 'cgroupfs' | 'systemd'; readonly protectsMemory: boolean },
): ReservedGroup[] {
  const { enforce, system, kube, systemCgroup, kubeCgroup } = reserved;
  const rows = [
    ['system-reserved', 'System', system, systemCgroup, false],
    ['kube-reserved', 'Kube', kube, kubeCgroup, false],
    ['system-reserved-compressible', 'System', system, systemCgroup, true],
    ['kube-reserved-compressible', 'Kube', kube, kubeCgroup, true],
  ] as const;
  return rows
    .filter(([key]) => enforce.includes(key))
    .map(([, owner, resources, group, compressible]) => ({
      owner,
      compressible,
      group,
      name: reservedGroupName(group, on.driver),
      limits: limitsOf(resources, compressible, on.protectsMemory),
    }));
}

/**
 * Returns the limits of a reservation. `protectsMemory` (MemoryQoS on cgroup v2) means that the reserved memory is
 * never reclaimed.
 */
function limitsOf(resources: ResourceList, compressible: boolean, protectsMemory: boolean): CgroupLimits | undefined {
  if (Object.keys(resources).length === 0) return undefined;
  const limits = groupLimitsOf(resources, compressible);
  if (!protectsMemory || limits.memoryBytes === undefined) return limits;
  return { ...limits, unified: { 'memory.min': String(limits.memoryBytes) } };
}

/**
 * Converts the configured name to the agent's. With the systemd driver the operator names a slice
 * (`/runtime.slice/runtime-kube.slice`), which the agent knows as `/runtime/kube` (upstream: ParseSystemdToCgroupName).
 */
function reservedGroupName(group: string, driver: 'cgroupfs' | 'systemd'): string {
  if (driver === 'cgroupfs')
    return `/${group
      .split('/')
      .filter((part) => part !== '')
      .join('/')}`;
  const slice = group.split('/').findLast((part) => part !== '') ?? '';
  return `/${slice
    .replace(/\.slice$/, '')
    .split('-')
    .map((part) => part.replaceAll('_', '-'))
    .join('/')}`;
}

/** Limits existing cgroups. If one is missing or cannot be limited, records an event and rejects with Invalid. */
export async function enforceReservedGroups(
  groups: readonly ReservedGroup[],
  { cgroups, recorder }: { readonly cgroups: Cgroups; readonly recorder: NodeEventRecorder },
): Promise<void> {
  for (const reserved of groups) {
    const { owner, compressible, group } = reserved;
    try {
      await enforce(reserved, cgroups);
    } catch (error) {
      const kind = compressible ? `${owner} Reserved Compressible` : `${owner} Reserved`;
      const message = `Failed to enforce ${kind} Cgroup Limits on ${goQuote(group)}: ${errorMessage(error)}`;
      recorder.nodeEvent('Warning', nodeEvents.failedNodeAllocatableEnforcement, message);
      throw new KubeletError('Invalid', message, { op: 'enforce reservations', cause: error });
    }
    recorder.nodeEvent(
      'Normal',
      nodeEvents.nodeAllocatableEnforced,
      `Updated limits on ${owner.toLowerCase()} reserved cgroup ${group}`,
    );
  }
}

async function enforce({ name, limits }: ReservedGroup, cgroups: Cgroups): Promise<void> {
  const quoted = `[${name
    .split('/')
    .filter((part) => part !== '')
    .map(goQuote)
    .join(' ')}]`;
  if (limits === undefined) throw new KubeletError('Invalid', `${quoted} cgroup is not configured properly`);
  const missing = await cgroups.missingPaths(name);
  if (missing.length > 0)
    throw new KubeletError('NotFound', `cgroup ${quoted} has some missing paths: ${missing.join(', ')}`);
  await cgroups.update(name, limits);
}
