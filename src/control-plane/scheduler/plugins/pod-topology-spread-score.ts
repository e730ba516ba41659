import { nodeLabels } from '../../../api/annotations.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { PodScorer } from '../framework/plugin.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { hasAllKeys, isIncluded, matchingPods } from './spread-constraint.ts';
import type { SpreadConstraint } from './spread-constraint.ts';

export interface SpreadScorerOptions {
  readonly pod: PodInfo;
  readonly constraints: readonly SpreadConstraint[];
  readonly snapshot: Snapshot;
  /** The nodes that passed the filters. */
  readonly nodes: readonly NodeInfo[];
  /** Whether nodes without one of the labels get no score. It is false for the system's default constraints. */
  readonly needsAllKeys: boolean;
}

const { hostname } = nodeLabels;

/** Prefers nodes in domains with few matching pods (upstream: podtopologyspread/scoring.go). */
export class SpreadScorer implements PodScorer {
  readonly #options: SpreadScorerOptions;
  readonly #ignored = new Set<NodeInfo>();
  /**
   * The matching pods of each constraint by topology value. For the hostname key, a node is counted when it is scored.
   */
  readonly #counts: readonly Map<string, number>[];
  readonly #onNodes: readonly ReadonlyMap<NodeInfo, number>[];
  readonly #weights: readonly number[];

  constructor(options: SpreadScorerOptions) {
    this.#options = options;
    const { constraints, nodes, pod, snapshot } = options;
    this.#onNodes = constraints.map((constraint) => matchingPods(constraint, pod, snapshot));
    this.#counts = constraints.map(() => new Map<string, number>());
    this.#findDomains();
    // With more domains, one pod in a domain has a larger weight.
    this.#weights = constraints.map(({ topologyKey }, index) =>
      Math.log((topologyKey === hostname ? nodes.length - this.#ignored.size : (this.#counts[index]?.size ?? 0)) + 2),
    );
    if (constraints.some(({ topologyKey }, index) => topologyKey !== hostname && (this.#counts[index]?.size ?? 0) > 0))
      this.#countPods();
  }

  score(node: NodeInfo): number {
    if (this.#ignored.has(node)) return 0;
    const { constraints } = this.#options;
    let score = 0;
    for (let index = 0; index < constraints.length; index++) {
      const { topologyKey, maxSkew } = constraints[index] as SpreadConstraint;
      const value = node.labels[topologyKey];
      if (value === undefined) continue;
      const count =
        topologyKey === hostname ? (this.#onNodes[index]?.get(node) ?? 0) : (this.#counts[index]?.get(value) ?? 0);
      score += count * (this.#weights[index] ?? 0) + (maxSkew - 1);
    }
    return Math.round(score);
  }

  normalize(scores: number[], nodes: readonly NodeInfo[]): void {
    let min = Infinity;
    let max = 0;
    for (let index = 0; index < scores.length; index++) {
      if (this.#ignored.has(nodes[index] as NodeInfo)) continue;
      const score = scores[index] as number;
      min = Math.min(min, score);
      max = Math.max(max, score);
    }
    for (let index = 0; index < scores.length; index++) {
      if (this.#ignored.has(nodes[index] as NodeInfo)) scores[index] = 0;
      else if (max === 0) scores[index] = MAX_NODE_SCORE;
      else scores[index] = Math.trunc((MAX_NODE_SCORE * (max + min - (scores[index] as number))) / max);
    }
  }

  #findDomains(): void {
    const { constraints, nodes, needsAllKeys } = this.#options;
    for (const node of nodes) {
      if (needsAllKeys && !hasAllKeys(node.labels, constraints)) {
        this.#ignored.add(node);
        continue;
      }
      for (let index = 0; index < constraints.length; index++) {
        const { topologyKey } = constraints[index] as SpreadConstraint;
        const value = topologyKey === hostname ? undefined : node.labels[topologyKey];
        if (value !== undefined) this.#counts[index]?.set(value, 0);
      }
    }
  }

  #countPods(): void {
    const { constraints, pod, snapshot, needsAllKeys } = this.#options;
    for (const node of snapshot.nodes()) {
      if (needsAllKeys && !hasAllKeys(node.labels, constraints)) continue;
      for (const [index, constraint] of constraints.entries()) {
        const counts = this.#counts[index] as Map<string, number>;
        const value = node.labels[constraint.topologyKey];
        const count = value === undefined ? undefined : counts.get(value);
        if (value === undefined || count === undefined || !isIncluded(constraint, pod, node)) continue;
        counts.set(value, count + (this.#onNodes[index]?.get(node) ?? 0));
      }
    }
  }
}
