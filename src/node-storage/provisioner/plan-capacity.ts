import { createHash } from 'node:crypto';
import { nodeLabels } from '../../api/annotations.ts';
import type { Node } from '../../api/core/node.ts';
import { quantityOf } from '../../api/quantity.ts';
import type { CSIStorageCapacity } from '../../api/storage/csi-storage-capacity.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { PROVISIONER } from './volume-name.ts';

/** Only the provisioners write there. */
export const CAPACITY_NAMESPACE = 'kube-system';

/** As on the objects of external provisioners. */
const DRIVER_LABEL = 'csi.storage.k8s.io/drivername';
const MANAGER_LABEL = 'csi.storage.k8s.io/managed-by';
/** Smaller differences are not written: the free space of a disk changes all the time. */
const STEP_BYTES = 16 * 1024 * 1024;

export interface CapacityFacts {
  readonly node: Node;
  readonly classes: readonly StorageClass[];
  /** All objects of the namespace. */
  readonly existing: readonly CSIStorageCapacity[];
  readonly freeBytes: number;
}

/** What to write so that the scheduler knows how much space the disk of this node has left. */
export interface CapacityPlan {
  readonly create: readonly CSIStorageCapacity[];
  readonly update: readonly CSIStorageCapacity[];
  readonly remove: readonly CSIStorageCapacity[];
}

/**
 * One object for each class of this provisioner whose claims wait for a pod. Objects of other nodes and of other
 * provisioners are not touched. A node without the label `kubernetes.io/hostname` has none.
 */
export function planCapacity({ node, classes, existing, freeBytes }: CapacityFacts): CapacityPlan {
  const hostname = node.metadata.labels?.[nodeLabels.hostname];
  const own = existing.filter((each) => isOf(each, node.metadata.name));
  const wanted =
    hostname === undefined
      ? []
      : classes
          .filter((each) => each.provisioner === PROVISIONER && each.volumeBindingMode === 'WaitForFirstConsumer')
          .map((each) => capacityOf(node, hostname, each.metadata.name, freeBytes));
  const before = new Map(own.map((each) => [each.metadata.name, each]));
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  return {
    create: wanted.filter(({ metadata }) => !before.has(metadata.name)),
    update: wanted.flatMap((each) => {
      const old = before.get(each.metadata.name);
      if (old === undefined || (old.capacity === each.capacity && ownerOf(old) === ownerOf(each))) return [];
      return [{ ...each, metadata: { ...old.metadata, ...withoutIdentity(each.metadata) } }];
    }),
    remove: own.filter(({ metadata }) => !names.has(metadata.name)),
  };
}

function isOf({ metadata: { labels = {} } }: CSIStorageCapacity, nodeName: string): boolean {
  return labels[DRIVER_LABEL] === PROVISIONER && labels[MANAGER_LABEL] === managerOf(nodeName);
}

function capacityOf(node: Node, hostname: string, className: string, freeBytes: number): CSIStorageCapacity {
  const { name, uid } = node.metadata;
  return {
    metadata: {
      name: `csisc-${digest(`${name}/${className}`)}`,
      namespace: CAPACITY_NAMESPACE,
      uid: '',
      labels: { [DRIVER_LABEL]: PROVISIONER, [MANAGER_LABEL]: managerOf(name) },
      // Deleted together with the node.
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    nodeTopology: { matchLabels: { [nodeLabels.hostname]: hostname } },
    storageClassName: className,
    capacity: quantityOf(Math.floor(Math.max(freeBytes, 0) / STEP_BYTES) * STEP_BYTES, 'BinarySI'),
  };
}

/** The value of a label, which is shorter than the name of a node may be. */
const managerOf = (nodeName: string): string => `node-disk-${digest(nodeName)}`;

const withoutIdentity = ({ uid: _, ...rest }: CSIStorageCapacity['metadata']): object => rest;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 20);

/** The uid of the owner is that of an older node of the name if that node was deleted and registered again. */
const ownerOf = ({ metadata }: CSIStorageCapacity): string | undefined => metadata.ownerReferences?.[0]?.uid;
