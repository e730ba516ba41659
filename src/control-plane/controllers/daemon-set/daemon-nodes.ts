import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { Node } from '../../../api/core/node.ts';
import type { PodTemplateSpec } from '../../../api/core/pod-template.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { NodeEligibility } from './daemon-pods.ts';

/** The facts about nodes that one daemon set needs. */
export interface DaemonNodes {
  readonly eligibility: NodeEligibility;
  /** The nodes on which a daemon pod should start, by name. */
  readonly starting: ReadonlyMap<string, Node>;
}

interface Known {
  readonly template: PodTemplateSpec;
  readonly generation: number | bigint | undefined;
  readonly eligibility: NodeEligibility;
  readonly starting: Map<string, Node>;
}

/**
 * Tracks the nodes of each daemon set incrementally. Invariants:
 * 1. `for(set).starting` contains exactly the informer's nodes on which the set's template starts a daemon pod.
 * 2. The first query for a set, and the first one after a change of its spec, checks all nodes. Other queries have a
 *    constant cost. A change of a node costs as much as there are sets.
 * 3. A deleted set leaves no state.
 */
export class NodeTable {
  readonly #sets: Informer<DaemonSet>;
  readonly #nodes: Informer<Node>;
  readonly #byUid = new Map<string, Known>();
  readonly #ends: readonly (() => void)[];

  constructor(sets: Informer<DaemonSet>, nodes: Informer<Node>) {
    this.#sets = sets;
    this.#nodes = nodes;
    this.#ends = [
      sets.addHandlers({ onDelete: ({ metadata }) => void this.#byUid.delete(metadata.uid) }),
      nodes.addHandlers({
        onAdd: (node) => this.#judge(node),
        onUpdate: (before, after) => {
          if (changesEligibility(before, after)) this.#judge(after);
          else this.#replace(after);
        },
        onDelete: ({ metadata }) => {
          for (const { starting } of this.#byUid.values()) starting.delete(metadata.name);
        },
      }),
    ];
  }

  for(daemonSet: DaemonSet): DaemonNodes {
    const { uid, generation } = daemonSet.metadata;
    const { template } = daemonSet.spec;
    const known = this.#byUid.get(uid);
    if (
      known?.template === template ||
      (known !== undefined && generation !== undefined && known.generation === generation)
    )
      return known;
    const eligibility = new NodeEligibility(template);
    const starting = new Map<string, Node>();
    for (const node of this.#nodes.list()) if (eligibility.of(node).starts) starting.set(node.metadata.name, node);
    const made: Known = { template, generation, eligibility, starting };
    // A pass may continue for a moment after its set was deleted.
    if (this.#sets.get(keyOf(daemonSet))?.metadata.uid === uid) this.#byUid.set(uid, made);
    return made;
  }

  /** The number of known sets. */
  get size(): number {
    return this.#byUid.size;
  }

  stop(): void {
    for (const end of this.#ends) end();
  }

  #judge(node: Node): void {
    for (const { eligibility, starting } of this.#byUid.values()) {
      if (eligibility.of(node).starts) starting.set(node.metadata.name, node);
      else starting.delete(node.metadata.name);
    }
  }

  #replace(node: Node): void {
    for (const { starting } of this.#byUid.values())
      if (starting.has(node.metadata.name)) starting.set(node.metadata.name, node);
  }
}

/** Whether a change of a node can change the result. Heartbeats cannot. */
export function changesEligibility(before: Node, after: Node): boolean {
  return (
    !semanticEqual(before.metadata.labels, after.metadata.labels) ||
    !semanticEqual(before.spec?.taints, after.spec?.taints)
  );
}
