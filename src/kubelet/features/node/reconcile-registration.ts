import { annotations, nodeLabels } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { isExtendedResource, isHugePageResource } from '../../../api/resources.ts';

/** The labels that a kubelet updates on an existing node. Its other labels are set only at the creation. */
const reconciledLabels: readonly string[] = [
  nodeLabels.hostname,
  nodeLabels.zone,
  nodeLabels.region,
  nodeLabels.betaZone,
  nodeLabels.betaRegion,
  nodeLabels.instanceType,
  'beta.kubernetes.io/instance-type',
  nodeLabels.os,
  nodeLabels.arch,
  nodeLabels.betaOs,
  nodeLabels.betaArch,
];

/**
 * Computes the changes to an existing node when the kubelet registers (upstream: tryRegisterWithAPIServer).
 * `resetExtended` means that the state of devices is lost, so extended resources count only when their plugins report
 * them again.
 */
export function reconcileRegistration(initial: Node, existing: Node, resetExtended: boolean): Node {
  const status = { ...existing.status };
  const capacity: ResourceList = { ...(status.capacity ?? initial.status?.capacity) };
  const allocatable: ResourceList = { ...(status.allocatable ?? initial.status?.allocatable) };
  if (resetExtended) {
    for (const name of Object.keys(capacity).filter(isExtendedResource)) {
      capacity[name] = '0';
      allocatable[name] = '0';
    }
  }
  reconcileHugePages(initial, capacity, allocatable);
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: labelsOf(initial, existing),
      annotations: annotationsOf(initial, existing),
    },
    status: { ...status, capacity, allocatable },
  };
}

/** Updates the sizes of huge pages, which may change with a reboot. */
function reconcileHugePages({ status: wanted = {} }: Node, capacity: ResourceList, allocatable: ResourceList): void {
  for (const name of Object.keys(capacity).filter(isHugePageResource)) {
    if (wanted.capacity?.[name] !== undefined) continue;
    delete capacity[name];
    delete allocatable[name];
  }
  for (const [list, from] of [
    [capacity, wanted.capacity],
    [allocatable, wanted.allocatable],
  ] as const) {
    for (const [name, amount] of Object.entries(from ?? {})) {
      if (isHugePageResource(name) && (list[name] === undefined || compareQuantities(list[name], amount) !== 0))
        list[name] = amount;
    }
  }
}

function labelsOf(initial: Node, existing: Node): Record<string, string> {
  const labels = { ...existing.metadata.labels };
  for (const name of reconciledLabels) {
    const value = initial.metadata.labels?.[name];
    if (value === '') delete labels[name];
    else if (value !== undefined) labels[name] = value;
  }
  return labels;
}

function annotationsOf(initial: Node, existing: Node): Record<string, string> {
  const { [annotations.controllerManagedAttach]: _old, ...rest } = existing.metadata.annotations ?? {};
  const managed = initial.metadata.annotations?.[annotations.controllerManagedAttach];
  return managed === undefined ? rest : { ...rest, [annotations.controllerManagedAttach]: managed };
}
