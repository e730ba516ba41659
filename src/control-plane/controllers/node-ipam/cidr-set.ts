import { formatIp } from '../../../base/ip-address.ts';
import { overlapsPrefix, parseIpPrefix } from '../../../base/ip-prefix.ts';
import type { IpPrefix } from '../../../base/ip-prefix.ts';

/**
 * The maximum difference in bits between the prefixes of a node and of the cluster (upstream: clusterSubnetMaxDiff).
 */
export const MAX_EXTRA_BITS = 16;

/**
 * The node ranges of one cluster range, by number. It is pure state.
 * 1. A number is used until every occupant has released it. Two nodes may claim the same range; it is free when both
 *    are gone.
 * 2. `next` wraps around, so that the range of a deleted node is reused as late as possible.
 * 3. `occupy` and `release` accept any range: one may cover many node ranges or be part of one. Addresses outside are
 *    ignored.
 */
export class CidrSet {
  readonly cluster: IpPrefix;
  readonly #nodeLength: number;
  readonly #hostBits: bigint;
  readonly #size: number;
  readonly #uses = new Map<number, number>();
  #cursor = 0;

  /**
   * Creates the set. `clusterCidr` must be a range, and `nodeLength` between its length and that plus `MAX_EXTRA_BITS`.
   */
  constructor(clusterCidr: string, nodeLength: number) {
    const cluster = parseIpPrefix(clusterCidr);
    if (cluster === undefined) throw new TypeError(`${clusterCidr} is not a range`);
    this.cluster = cluster;
    this.#nodeLength = nodeLength;
    this.#hostBits = BigInt(cluster.bits - nodeLength);
    this.#size = Number((cluster.last - cluster.first + 1n) >> this.#hostBits);
  }

  get free(): number {
    return this.#size - this.#uses.size;
  }

  occupy(prefix: IpPrefix): void {
    this.#each(prefix, (index) => this.#uses.set(index, (this.#uses.get(index) ?? 0) + 1));
  }

  release(prefix: IpPrefix): void {
    this.#each(prefix, (index) => {
      const left = (this.#uses.get(index) ?? 0) - 1;
      if (left > 0) this.#uses.set(index, left);
      else this.#uses.delete(index);
    });
  }

  /** Returns the next free range, which the caller then occupies, or undefined when all are used. */
  next(): string | undefined {
    if (this.free === 0) return undefined;
    while (this.#uses.has(this.#cursor)) this.#cursor = (this.#cursor + 1) % this.#size;
    const found = this.#at(this.#cursor);
    this.#cursor = (this.#cursor + 1) % this.#size;
    return found;
  }

  #at(index: number): string {
    const value = this.cluster.first + (BigInt(index) << this.#hostBits);
    const length = this.cluster.bits / 8;
    const bytes = Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 255n));
    return `${formatIp(bytes)}/${this.#nodeLength}`;
  }

  #each(prefix: IpPrefix, visit: (index: number) => void): void {
    const { cluster } = this;
    if (!overlapsPrefix(cluster, prefix)) return;
    const numberOf = (value: bigint): number => Number((value - cluster.first) >> this.#hostBits);
    const first = prefix.first > cluster.first ? numberOf(prefix.first) : 0;
    const last = prefix.last < cluster.last ? numberOf(prefix.last) : this.#size - 1;
    for (let index = first; index <= last; index++) visit(index);
  }
}
