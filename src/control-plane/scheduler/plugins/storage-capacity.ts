import type { Labels } from '../../../api/label-requirement.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';

/** The largest volume that is possible. */
export const volumeLimit = ({ maximumVolumeSize, capacity }: CSIStorageCapacity): string | undefined =>
  maximumVolumeSize ?? capacity;

/**
 * Which nodes reach enough storage for a volume of a class and size. Storage of one node each, distinguished by a single
 * label, is looked up by that label, so that a node costs the same however many nodes there are (upstream:
 * hasEnoughCapacity).
 */
export class EnoughStorage {
  /** Values of labels whose nodes have enough, by the label's key. */
  readonly #values = new Map<string, Set<string>>();
  readonly #others: CSIStorageCapacity[] = [];

  constructor(capacities: Iterable<CSIStorageCapacity>, className: string, size: string) {
    for (const capacity of capacities) {
      const limit = volumeLimit(capacity);
      const isEnough =
        capacity.storageClassName === className && limit !== undefined && compareQuantities(limit, size) >= 0;
      // Without a topology no node reaches it.
      if (isEnough && capacity.nodeTopology !== undefined) this.#add(capacity, capacity.nodeTopology);
    }
  }

  #add(capacity: CSIStorageCapacity, topology: NonNullable<CSIStorageCapacity['nodeTopology']>): void {
    const [only, ...more] = Object.entries(topology.matchLabels ?? {});
    if (only === undefined || more.length > 0 || (topology.matchExpressions ?? []).length > 0) {
      this.#others.push(capacity);
      return;
    }
    const [key, value] = only;
    const values = this.#values.get(key) ?? new Set();
    this.#values.set(key, values.add(value));
  }

  reaches(labels: Labels): boolean {
    for (const [key, values] of this.#values)
      if (Object.hasOwn(labels, key) && values.has(labels[key] ?? '')) return true;
    return this.#others.some(({ nodeTopology }) => matchesLabelSelector(nodeTopology, labels));
  }
}
