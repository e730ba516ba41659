import type { Random } from '../../../base/random.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { Profile } from '../framework/profile.ts';
import type { Snapshot } from '../framework/snapshot.ts';

/** The weighted scores of one plugin, in node order. */
export interface PluginScores {
  readonly plugin: string;
  readonly scores: readonly number[];
}

export interface NodeScores {
  readonly nodes: readonly NodeInfo[];
  readonly totals: readonly number[];
  readonly byPlugin: readonly PluginScores[];
}

export function scoreNodes(profile: Profile, pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]): NodeScores {
  const totals = new Array<number>(nodes.length).fill(0);
  const byPlugin: PluginScores[] = [];
  for (const { plugin, weight } of profile.scores) {
    const scorer = plugin.preScore?.(pod, snapshot, nodes);
    if (scorer === undefined) continue;
    const scores = nodes.map((node) => scorer.score(node));
    scorer.normalize?.(scores, nodes);
    for (let index = 0; index < scores.length; index++) {
      const weighted = (scores[index] ?? 0) * weight;
      scores[index] = weighted;
      totals[index] = (totals[index] ?? 0) + weighted;
    }
    byPlugin.push({ plugin: plugin.name, scores });
  }
  return { nodes, totals, byPlugin };
}

/** Returns the node with the highest score. Ties are broken at random. */
export function selectBest({ nodes, totals }: NodeScores, random: Random): NodeInfo {
  let best = 0;
  let equals = 1;
  for (let index = 1; index < nodes.length; index++) {
    const total = totals[index] ?? 0;
    const known = totals[best] ?? 0;
    if (total > known) {
      best = index;
      equals = 1;
    } else if (total === known && random.next() * ++equals < 1) best = index;
  }
  return nodes[best] as NodeInfo;
}
