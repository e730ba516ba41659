import type { LabelMatcher } from '../../../api/label-requirement.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { isCounted } from '../framework/pod-info.ts';
import type { KeyedMatcher } from '../framework/label-matcher.ts';

/** The number of selectors that are tracked; the least recently used one is dropped. */
const FOLLOWED = 1024;
/** Longer selectors are not cached, so that clients cannot fill the memory. */
const LONGEST_KEY = 2048;

interface Followed {
  readonly namespace: string;
  readonly matcher: LabelMatcher;
  readonly counts: Map<NodeInfo, number>;
}

/**
 * How many pods of a namespace a selector selects on each node, kept up to date pod by pod. The first request for a
 * selector counts all pods, and later ones are free. A change of a pod costs one comparison with each tracked selector
 * of its namespace.
 */
export class MatchCounts {
  readonly #nodes: () => Iterable<NodeInfo>;
  /** The tracked selectors, least recently used first. */
  readonly #followed = new Map<string, Followed>();
  readonly #byNamespace = new Map<string, Set<Followed>>();

  constructor(nodes: () => Iterable<NodeInfo>) {
    this.#nodes = nodes;
  }

  /**
   * Returns the number of matching pods by node. Nodes without matching pods are absent. The map changes with the pods,
   * so callers read it within the same turn.
   */
  of(namespace: string, { key, matcher }: KeyedMatcher): ReadonlyMap<NodeInfo, number> {
    if (key.length > LONGEST_KEY) return this.#count(namespace, matcher);
    const name = `${namespace}/${key}`;
    let followed = this.#followed.get(name);
    if (followed === undefined) {
      if (this.#followed.size >= FOLLOWED) this.#dropOldest();
      followed = { namespace, matcher, counts: this.#count(namespace, matcher) };
      const others = this.#byNamespace.get(namespace);
      if (others === undefined) this.#byNamespace.set(namespace, new Set([followed]));
      else others.add(followed);
    } else this.#followed.delete(name);
    this.#followed.set(name, followed);
    return followed.counts;
  }

  /** Counts a pod that was added to the node (1) or removed from it (-1). */
  change(info: PodInfo, node: NodeInfo, by: 1 | -1): void {
    if (!isCounted(info)) return;
    for (const { matcher, counts } of this.#byNamespace.get(info.namespace) ?? []) {
      if (!matcher.matches(info.labels)) continue;
      const count = (counts.get(node) ?? 0) + by;
      if (count > 0) counts.set(node, count);
      else counts.delete(node);
    }
  }

  /** Drops the counts of a removed node. */
  forgetNode(node: NodeInfo): void {
    for (const { counts } of this.#followed.values()) counts.delete(node);
  }

  #count(namespace: string, matcher: LabelMatcher): Map<NodeInfo, number> {
    const counts = new Map<NodeInfo, number>();
    for (const node of this.#nodes()) {
      let count = 0;
      for (const info of node.pods.values())
        if (info.namespace === namespace && isCounted(info) && matcher.matches(info.labels)) count++;
      if (count > 0) counts.set(node, count);
    }
    return counts;
  }

  #dropOldest(): void {
    for (const [name, followed] of this.#followed) {
      this.#followed.delete(name);
      const others = this.#byNamespace.get(followed.namespace);
      others?.delete(followed);
      if (others?.size === 0) this.#byNamespace.delete(followed.namespace);
      return;
    }
  }
}
