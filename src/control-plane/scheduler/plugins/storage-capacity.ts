import type { Labels } from '../../../api/label-requirement.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';

/** Returns the size of the largest possible volume. */
export const volumeLimit = ({ maximumVolumeSize, capacity }: CSIStorageCapacity): string | undefined =>
  maximumVolumeSize ?? capacity;

/**
 * Finds the nodes that reach enough storage for a volume of a class and size. Capacity objects that select nodes by a
 * single label are indexed by that label, so the cost per node does not depend on the number of nodes (upstream:
 * hasEnoughCapacity).
 */
export class EnoughStorage {
  /** The values of labels whose nodes reach enough storage, by label key. */
  readonly #values = new Map<string, Set<string>>();
  readonly #others: CSIStorageCapacity[] = [];

  constructor(capacities: Iterable<CSIStorageCapacity>, className: string, size: string) {
    for (const capacity of capacities) {
      const limit = volumeLimit(capacity);
      const isEnough =
        capacity.storageClassName === className && limit !== undefined && compareQuantities(limit, size) >= 0;
      // Without a topology no node reaches the storage.
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
