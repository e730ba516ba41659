import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { PodCheck } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { runChecksWithNominated } from './filter-state.ts';
import type { Checks } from './filter-state.ts';

/** The rejection of unchecked nodes. Evicting pods would not change it. */
const unvisited = unresolvable('');

export type PreFilterOutcome =
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  | {
      readonly kind: 'checks';
      readonly checks: Checks;
      readonly nodeNames: ReadonlySet<string> | undefined;
      readonly narrowedBy: readonly string[];
    };

/**
 * Runs each plugin's preFilter once for the pod. A rejection that eviction cannot resolve ends the run; other
 * rejections are returned after all plugins have run.
 */
export function preFilter(profile: Profile, pod: PodInfo, snapshot: Snapshot): PreFilterOutcome {
  const checks: PodCheck[] = [];
  const narrowedBy: string[] = [];
  let nodeNames: ReadonlySet<string> | undefined;
  let refused: Rejection | undefined;
  for (const plugin of profile.filters) {
    const result = plugin.preFilter?.(pod, snapshot);
    if (result === undefined || result.kind === 'skip') continue;
    if (result.kind === 'rejected') {
      if (result.rejection.code === 'UnschedulableAndUnresolvable') return result;
      refused = result.rejection;
      continue;
    }
    checks.push(result.check);
    if (result.nodeNames === undefined) continue;
    narrowedBy.push(plugin.name);
    const names: ReadonlySet<string> = result.nodeNames;
    nodeNames = nodeNames === undefined ? names : new Set([...nodeNames].filter((name) => names.has(name)));
    if (nodeNames.size === 0) return { kind: 'rejected', rejection: nothingLeft(narrowedBy) };
  }
  return refused === undefined
    ? { kind: 'checks', checks, nodeNames, narrowedBy }
    : { kind: 'rejected', rejection: refused };
}

function nothingLeft(plugins: readonly string[]): Rejection {
  const [only] = plugins;
  const reason =
    plugins.length === 1 && only !== undefined
      ? `node(s) didn't satisfy plugin ${only}`
      : `node(s) didn't satisfy plugin(s) [${[...plugins].sort().join(' ')}] simultaneously`;
  return unresolvable(only ?? '', reason);
}

export interface FoundNodes {
  readonly feasible: readonly NodeInfo[];
  readonly rejections: ReadonlyMap<string, Rejection>;
  readonly absent: Rejection;
  readonly nextStart: number;
  /** Whether the single node is the nominated node of the pod, so that no other nodes were checked. */
  readonly isNominated: boolean;
}

export interface FindOptions {
  readonly profile: Profile;
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
  readonly outcome: Extract<PreFilterOutcome, { kind: 'checks' }>;
  /**
   * The index where the last search ended. The next search starts there, so that all nodes are checked equally often.
   */
  readonly start: number;
  /** Whether to skip the nominated node, because it was tried already and extenders rejected it. */
  readonly skipNominated: boolean;
}

/** Checks nodes until enough of them fit. The nominated node of the pod is checked first. */
export function findNodes(options: FindOptions): FoundNodes {
  const { pod, snapshot, outcome, start } = options;
  const rejections = new Map<string, Rejection>();
  const tryNode = (node: NodeInfo): boolean => {
    const rejection = runChecksWithNominated(outcome.checks, pod, node, snapshot);
    if (rejection !== undefined) rejections.set(node.name, rejection);
    return rejection === undefined;
  };
  const nominated = options.skipNominated ? undefined : snapshot.node(pod.pod.status?.nominatedNodeName ?? '');
  if (nominated !== undefined && tryNode(nominated))
    return { feasible: [nominated], rejections, absent: unvisited, nextStart: start, isNominated: true };
  const all = snapshot.nodes();
  const { nodeNames } = outcome;
  const nodes = nodeNames === undefined ? all : [...nodeNames].flatMap((name) => snapshot.node(name) ?? []);
  const wanted =
    options.profile.scores.length === 0 ? 1 : nodesToFind(nodes.length, options.profile.percentageOfNodesToScore);
  const feasible: NodeInfo[] = [];
  for (let index = 0; index < nodes.length && feasible.length < wanted; index++) {
    const node = nodes[(start + index) % nodes.length] as NodeInfo;
    if (tryNode(node)) feasible.push(node);
  }
  const narrowed = unresolvable('', `node(s) didn't satisfy plugin(s) [${[...outcome.narrowedBy].sort().join(' ')}]`);
  return {
    feasible,
    rejections,
    absent: nodeNames === undefined ? unvisited : narrowed,
    nextStart: (start + feasible.length + rejections.size) % Math.max(1, all.length),
    isNominated: false,
  };
}

const MIN_NODES_TO_FIND = 100;
const MIN_PERCENTAGE = 5;

/**
 * Returns the number of nodes to find. Small clusters are searched completely; in large ones the percentage is 50 minus
 * one for every 125 nodes (upstream: numFeasibleNodesToFind).
 */
function nodesToFind(nodeCount: number, percentage: number): number {
  if (nodeCount < MIN_NODES_TO_FIND) return nodeCount;
  const share = percentage === 0 ? Math.max(MIN_PERCENTAGE, 50 - Math.trunc(nodeCount / 125)) : percentage;
  return Math.max(MIN_NODES_TO_FIND, Math.trunc((nodeCount * share) / 100));
}
