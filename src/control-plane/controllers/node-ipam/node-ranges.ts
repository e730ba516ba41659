import { containsPrefix, parseIpPrefix } from '../../../base/ip-prefix.ts';
import type { IpPrefix } from '../../../base/ip-prefix.ts';
import { CidrSet } from './cidr-set.ts';

export interface NodeRangeSettings {
  /** The ranges of pod addresses, one per IP family, and the prefix length of node ranges. */
  readonly clusters: readonly { readonly cidr: string; readonly nodeLength: number }[];
  /** The ranges of service addresses. No node gets a range that overlaps them. */
  readonly excluded: readonly string[];
}

/**
 * The ranges of each node. It is pure state. Nodes are identified by UID, so that a recreated node counts as another
 * one. Invariant: no two nodes hold the same range, unless their objects claim it.
 */
export class NodeRanges {
  readonly #sets: readonly CidrSet[];
  readonly #held = new Map<string, readonly string[]>();

  constructor({ clusters, excluded }: NodeRangeSettings) {
    this.#sets = clusters.map(({ cidr, nodeLength }) => new CidrSet(cidr, nodeLength));
    for (const prefix of excluded.flatMap((cidr) => parseIpPrefix(cidr) ?? []))
      for (const set of this.#sets) set.occupy(prefix);
  }

  /** Records the ranges in a node object. Returns those outside of the cluster's ranges. */
  occupy(uid: string, cidrs: readonly string[]): readonly string[] {
    const held = this.#held.get(uid);
    if (held === undefined || held.join() !== cidrs.join()) {
      this.release(uid);
      this.#held.set(uid, cidrs);
      for (const prefix of prefixesOf(cidrs)) for (const set of this.#sets) set.occupy(prefix);
    }
    return cidrs.filter((cidr) => {
      const prefix = parseIpPrefix(cidr);
      return prefix === undefined || !this.#sets.some(({ cluster }) => containsPrefix(cluster, prefix));
    });
  }

  /**
   * Allocates one range per family. The result for a node stays the same until it is released, so that a write with an
   * unknown result is repeated with the same values. Undefined if a family has no free range; the node then holds none.
   */
  allocate(uid: string): readonly string[] | undefined {
    const held = this.#held.get(uid);
    if (held !== undefined) return held;
    if (this.#sets.some(({ free }) => free === 0)) return undefined;
    const cidrs = this.#sets.flatMap((set) => set.next() ?? []);
    this.occupy(uid, cidrs);
    return cidrs;
  }

  release(uid: string): void {
    const held = this.#held.get(uid);
    if (held === undefined) return;
    this.#held.delete(uid);
    for (const prefix of prefixesOf(held)) for (const set of this.#sets) set.release(prefix);
  }
}

const prefixesOf = (cidrs: readonly string[]): readonly IpPrefix[] =>
  cidrs.flatMap((cidr) => parseIpPrefix(cidr) ?? []);
