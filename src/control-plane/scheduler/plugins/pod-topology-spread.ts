import { nodeLabels } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { TopologySpreadConstraint, UnsatisfiableConstraintAction } from '../../../api/core/scheduling.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { EventOf } from '../framework/cluster-event.ts';
import { sameRecord } from '../framework/cluster-event.ts';
import { noLabels } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { skip } from '../framework/plugin.ts';
import type { Plugin, PodCheck, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { holdsNode } from './node-resources-fit.ts';
import { SpreadScorer } from './pod-topology-spread-score.ts';
import { compileConstraint, defaultSelector, hasAllKeys, isIncluded, matchingPods } from './spread-constraint.ts';
import type { SpreadConstraint } from './spread-constraint.ts';

export interface PodTopologySpreadArgs {
  /** The constraints for pods that have none. They count the pods that the pod's services and controllers select. */
  readonly defaultConstraints?: readonly TopologySpreadConstraint[];
  readonly defaultingType?: 'System' | 'List';
}

const NAME = 'PodTopologySpread';
const mismatch = unschedulable(NAME, "node(s) didn't match pod topology spread constraints");
const missingLabel = unresolvable(
  NAME,
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

const systemConstraints: readonly TopologySpreadConstraint[] = [
  { topologyKey: nodeLabels.hostname, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: nodeLabels.zone, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
];

/** Creates the plugin for topology spread constraints. */
export function createPodTopologySpread({
  defaultConstraints = [],
  defaultingType = 'System',
}: PodTopologySpreadArgs = {}): Plugin {
  const isSystem = defaultingType === 'System';
  const defaults = isSystem ? systemConstraints : defaultConstraints;
  const constraintsFor = (
    pod: PodInfo,
    action: UnsatisfiableConstraintAction,
    snapshot: Snapshot,
  ): readonly SpreadConstraint[] => {
    const own = pod.pod.spec.topologySpreadConstraints ?? [];
    if (own.length > 0)
      return own.filter((one) => one.whenUnsatisfiable === action).map((one) => compileConstraint(one, pod.labels));
    const wanted = defaults.filter((one) => one.whenUnsatisfiable === action);
    if (wanted.length === 0) return [];
    const selector = defaultSelector(pod.pod, snapshot.objects);
    return selector.matcher.empty ? [] : wanted.map((one) => ({ ...compileConstraint(one, noLabels), selector }));
  };
  const hasHardDefaults = defaults.some((one) => one.whenUnsatisfiable === 'DoNotSchedule');
  return {
    name: NAME,
    hints: {
      Pod: [
        {
          actions: ['Add', 'Delete', 'UpdatePodLabel', 'UpdatePodToleration'],
          mayHelp: (pod, event) => podMayHelp(pod, event, hasHardDefaults),
        },
      ],
      Node: [
        {
          actions: ['Add', 'Delete', 'UpdateNodeLabel', 'UpdateNodeTaint'],
          mayHelp: (pod, event) => nodeMayHelp(pod, event, hasHardDefaults),
        },
      ],
    },
    preFilter: (pod, snapshot) => preFilter(pod, constraintsFor(pod, 'DoNotSchedule', snapshot), snapshot),
    preScore: (pod, snapshot, nodes) => {
      const constraints = constraintsFor(pod, 'ScheduleAnyway', snapshot);
      if (constraints.length === 0) return undefined;
      const needsAllKeys = (pod.pod.spec.topologySpreadConstraints ?? []).length > 0 || !isSystem;
      return new SpreadScorer({ pod, constraints, snapshot, nodes, needsAllKeys });
    },
  };
}

function preFilter(pod: PodInfo, constraints: readonly SpreadConstraint[], snapshot: Snapshot): PreFilterResult {
  if (constraints.length === 0) return skip;
  const counts = constraints.map(() => new Map<string, number>());
  const onNodes = constraints.map((constraint) => matchingPods(constraint, pod, snapshot));
  for (const node of snapshot.nodes()) {
    if (!hasAllKeys(node.labels, constraints)) continue;
    for (const [index, constraint] of constraints.entries()) {
      if (!isIncluded(constraint, pod, node)) continue;
      const value = node.labels[constraint.topologyKey] ?? '';
      const domain = counts[index] as Map<string, number>;
      domain.set(value, (domain.get(value) ?? 0) + (onNodes[index]?.get(node) ?? 0));
    }
  }
  return { kind: 'check', check: new SpreadCheck(pod, constraints, counts) };
}

/** Checks the skew. A change of a count may change the minimum, so the minimum is computed again on the next read. */
class SpreadCheck implements PodCheck {
  readonly #pod: PodInfo;
  readonly #constraints: readonly SpreadConstraint[];
  readonly #counts: readonly Map<string, number>[];
  readonly #selfMatch: readonly number[];
  readonly #fewest: (number | undefined)[];

  constructor(pod: PodInfo, constraints: readonly SpreadConstraint[], counts: readonly Map<string, number>[]) {
    this.#pod = pod;
    this.#constraints = constraints;
    this.#counts = counts;
    this.#selfMatch = constraints.map(({ selector }) => (selector.matcher.matches(pod.labels) ? 1 : 0));
    this.#fewest = constraints.map(() => undefined);
  }

  filter(node: NodeInfo): typeof mismatch | undefined {
    for (const [index, constraint] of this.#constraints.entries()) {
      const value = node.labels[constraint.topologyKey];
      if (value === undefined) return missingLabel;
      const here = this.#counts[index]?.get(value) ?? 0;
      if (here + (this.#selfMatch[index] ?? 0) - this.#fewestOf(index) > constraint.maxSkew) return mismatch;
    }
    return undefined;
  }

  readonly others = {
    added: (other: PodInfo, node: NodeInfo): void => this.#change(other, node, 1),
    removed: (other: PodInfo, node: NodeInfo): void => this.#change(other, node, -1),
    clone: (): PodCheck =>
      new SpreadCheck(
        this.#pod,
        this.#constraints,
        this.#counts.map((counts) => new Map(counts)),
      ),
  };

  /**
   * Returns the smallest count of any domain. With fewer domains than `minDomains` it is 0. Without any domain no skew
   * is too large, as in upstream.
   */
  #fewestOf(index: number): number {
    const counts = this.#counts[index] as Map<string, number>;
    if (counts.size < (this.#constraints[index] as SpreadConstraint).minDomains) return 0;
    let fewest = this.#fewest[index];
    if (fewest === undefined) {
      fewest = Infinity;
      for (const count of counts.values()) if (count < fewest) fewest = count;
      this.#fewest[index] = fewest;
    }
    return fewest;
  }

  #change(other: PodInfo, node: NodeInfo, by: 1 | -1): void {
    if (other.namespace !== this.#pod.namespace || !hasAllKeys(node.labels, this.#constraints)) return;
    for (const [index, constraint] of this.#constraints.entries()) {
      if (!constraint.selector.matcher.matches(other.labels) || !isIncluded(constraint, this.#pod, node)) continue;
      const value = node.labels[constraint.topologyKey] ?? '';
      const counts = this.#counts[index] as Map<string, number>;
      counts.set(value, (counts.get(value) ?? 0) + by);
      this.#fewest[index] = undefined;
    }
  }
}

const hardConstraints = (pod: Pod): SpreadConstraint[] =>
  (pod.spec.topologySpreadConstraints ?? [])
    .filter((one) => one.whenUnsatisfiable === 'DoNotSchedule')
    .map((one) => compileConstraint(one, pod.metadata.labels ?? noLabels));

/**
 * Whether a pod event may help. Hints do not read services and controllers, so with hard default constraints any event
 * of the namespace may help.
 */
function podMayHelp(pod: Pod, { before, after }: EventOf<'Pod'>, hasHardDefaults: boolean): boolean {
  const other = after ?? before;
  if (other === undefined) return false;
  const isSelf = other.metadata.uid === pod.metadata.uid;
  if (!isSelf && (!holdsNode(other) || other.metadata.namespace !== pod.metadata.namespace)) return false;
  const constraints = hardConstraints(pod);
  if (constraints.length === 0) return hasHardDefaults;
  if (
    isSelf &&
    constraints.some(({ nodeTaintsPolicy }) => nodeTaintsPolicy === 'Honor') &&
    before?.spec.tolerations?.length !== after?.spec.tolerations?.length
  )
    return true;
  const matches = (one: Pod | undefined): boolean[] =>
    constraints.map(({ selector }) => one !== undefined && selector.matcher.matches(podInfoOf(one).labels));
  const then = matches(before);
  const now = matches(after);
  return now.some((match, index) => match !== then[index]);
}

function nodeMayHelp(pod: Pod, { before, after }: EventOf<'Node'>, hasHardDefaults: boolean): boolean {
  const constraints = hardConstraints(pod);
  if (constraints.length === 0) return hasHardDefaults;
  const labelsOf = (node: Node | undefined): Labels => node?.metadata.labels ?? noLabels;
  const then = before !== undefined && hasAllKeys(labelsOf(before), constraints);
  const now = after !== undefined && hasAllKeys(labelsOf(after), constraints);
  if (before === undefined || after === undefined || then !== now) return then || now;
  // Node affinity may use any label, so a change of any label may change the counts.
  return (
    now &&
    (!sameRecord(labelsOf(before), labelsOf(after)) ||
      JSON.stringify(before.spec?.taints) !== JSON.stringify(after.spec?.taints))
  );
}
