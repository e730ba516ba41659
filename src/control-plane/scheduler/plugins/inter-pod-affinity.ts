import { ownValue } from '../../../base/lookup.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { EventOf } from '../framework/cluster-event.ts';
import { matchesNothing, noLabels } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { podInfoOf, termMatches } from '../framework/pod-info.ts';
import type { AffinityTerm, PodInfo } from '../framework/pod-info.ts';
import { skip } from '../framework/plugin.ts';
import type { Plugin, PodCheck, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { resolveNamespaces } from './affinity-namespaces.ts';
import { createAffinityScorer } from './inter-pod-affinity-score.ts';
import { holdsNode } from './node-resources-fit.ts';

export interface InterPodAffinityArgs {
  /** The score weight of existing pods' required affinity. Default 1. */
  readonly hardPodAffinityWeight?: number;
  readonly ignorePreferredTermsOfExistingPods?: boolean;
}

const NAME = 'InterPodAffinity';
const affinityMismatch = unresolvable(NAME, "node(s) didn't match pod affinity rules");
const antiAffinityMismatch = unschedulable(NAME, "node(s) didn't match pod anti-affinity rules");
const existingAntiAffinity = unschedulable(NAME, "node(s) didn't satisfy existing pods anti-affinity rules");

/** Creates the plugin for pod affinity and anti-affinity. */
export function createInterPodAffinity({
  hardPodAffinityWeight = 1,
  ignorePreferredTermsOfExistingPods = false,
}: InterPodAffinityArgs = {}): Plugin {
  return {
    name: NAME,
    hints: {
      Pod: [{ actions: ['Add', 'Delete', 'UpdatePodLabel'], mayHelp: podMayHelp }],
      Node: [{ actions: ['Add', 'Delete', 'UpdateNodeLabel'], mayHelp: nodeMayHelp }],
      // A changed namespace may start or stop matching a namespaceSelector.
      Namespace: [{ actions: ['Add', 'Update', 'Delete'], mayHelp: (pod) => podInfoOf(pod).hasAffinity }],
    },
    preFilter,
    preScore: (pod, snapshot) =>
      createAffinityScorer(pod, snapshot, { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }),
  };
}

/**
 * The numbers of pods by topology key and value. They are small integers in nested maps, because every node reads them.
 */
class TopologyCounts {
  readonly #counts = new Map<string, Map<string, number>>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  add(node: NodeInfo, key: string, by: number): void {
    const value = Object.hasOwn(node.labels, key) ? node.labels[key] : undefined;
    if (value === undefined) return;
    const counts = this.#counts.get(key) ?? new Map<string, number>();
    const sum = (counts.get(value) ?? 0) + by;
    if (sum === 0) counts.delete(value);
    else counts.set(value, sum);
    if (counts.size === 0) this.#counts.delete(key);
    else this.#counts.set(key, counts);
  }

  at(key: string, value: string): number {
    return this.#counts.get(key)?.get(value) ?? 0;
  }

  /** Whether a label of the node belongs to a counted domain. */
  touches(labels: Labels): boolean {
    for (const [key, counts] of this.#counts) {
      const value = labels[key];
      if (value !== undefined && (counts.get(value) ?? 0) > 0) return true;
    }
    return false;
  }

  clone(): TopologyCounts {
    const copy = new TopologyCounts();
    for (const [key, counts] of this.#counts) copy.#counts.set(key, new Map(counts));
    return copy;
  }
}

/** Whether a pod matches all terms. Such a pod counts for the domain of each term. */
const matchesAll = (terms: readonly AffinityTerm[], other: PodInfo): boolean =>
  terms.length > 0 && terms.every((term) => termMatches(term, other, noLabels));

function preFilter(pod: PodInfo, snapshot: Snapshot): PreFilterResult {
  const { objects } = snapshot;
  const check = new AffinityCheck({
    pod,
    affinity: resolveNamespaces(pod.requiredAffinity, objects),
    antiAffinity: resolveNamespaces(pod.requiredAntiAffinity, objects),
    namespaceLabels: pod.namespace === '' ? noLabels : (objects.namespaceLabels(pod.namespace) ?? noLabels),
  });
  for (const node of snapshot.nodesWithRequiredAntiAffinity())
    for (const other of node.podsWithRequiredAntiAffinity.values()) check.countExisting(other, node, 1);
  if (pod.requiredAffinity.length > 0 || pod.requiredAntiAffinity.length > 0) {
    for (const node of snapshot.nodes()) for (const other of node.pods.values()) check.countIncoming(other, node, 1);
  }
  return check.isIdle ? skip : { kind: 'check', check };
}

interface AffinityQuestion {
  readonly pod: PodInfo;
  readonly affinity: readonly AffinityTerm[];
  readonly antiAffinity: readonly AffinityTerm[];
  /** The labels of the pod's namespace. */
  readonly namespaceLabels: Labels;
}

class AffinityCheck implements PodCheck {
  readonly #question: AffinityQuestion;
  /** The existing pods whose anti-affinity selects this pod. */
  readonly #existing: TopologyCounts;
  readonly #near: TopologyCounts;
  readonly #far: TopologyCounts;

  constructor(question: AffinityQuestion, from?: AffinityCheck) {
    this.#question = question;
    this.#existing = from === undefined ? new TopologyCounts() : from.#existing.clone();
    this.#near = from === undefined ? new TopologyCounts() : from.#near.clone();
    this.#far = from === undefined ? new TopologyCounts() : from.#far.clone();
  }

  get isIdle(): boolean {
    return this.#existing.isEmpty && this.#question.affinity.length === 0 && this.#question.antiAffinity.length === 0;
  }

  countExisting(other: PodInfo, node: NodeInfo, by: number): void {
    for (const term of other.requiredAntiAffinity)
      if (termMatches(term, this.#question.pod, this.#question.namespaceLabels))
        this.#existing.add(node, term.topologyKey, by);
  }

  countIncoming(other: PodInfo, node: NodeInfo, by: number): void {
    const { affinity, antiAffinity } = this.#question;
    if (matchesAll(affinity, other)) for (const term of affinity) this.#near.add(node, term.topologyKey, by);
    for (const term of antiAffinity) if (termMatches(term, other, noLabels)) this.#far.add(node, term.topologyKey, by);
  }

  filter({ labels }: NodeInfo): typeof affinityMismatch | undefined {
    const { antiAffinity } = this.#question;
    if (!this.#hasCompany(labels)) return affinityMismatch;
    for (const { topologyKey } of antiAffinity) {
      const value = labels[topologyKey];
      if (value !== undefined && this.#far.at(topologyKey, value) > 0) return antiAffinityMismatch;
    }
    return this.#existing.touches(labels) ? existingAntiAffinity : undefined;
  }

  readonly others = {
    added: (other: PodInfo, node: NodeInfo): void => this.#change(other, node, 1),
    removed: (other: PodInfo, node: NodeInfo): void => this.#change(other, node, -1),
    clone: (): PodCheck => new AffinityCheck(this.#question, this),
  };

  /**
   * Whether the affinity is satisfied. If no pod matches any term but the pod matches its own terms, it is the first of
   * its group and may run anywhere.
   */
  #hasCompany(labels: Labels): boolean {
    const { affinity, pod } = this.#question;
    let all = true;
    for (const { topologyKey } of affinity) {
      const value = labels[topologyKey];
      if (value === undefined) return false;
      if (this.#near.at(topologyKey, value) <= 0) all = false;
    }
    return all || (this.#near.isEmpty && matchesAll(affinity, pod));
  }

  #change(other: PodInfo, node: NodeInfo, by: number): void {
    this.countExisting(other, node, by);
    this.countIncoming(other, node, by);
  }
}

/**
 * Whether the term may select the pod. Hints do not read namespace labels, so a term with a namespaceSelector may
 * select any namespace.
 */
function mayMatch(term: AffinityTerm, other: PodInfo): boolean {
  return (
    (term.namespaces.has(other.namespace) || term.namespaceSelector !== matchesNothing) &&
    term.selector.matches(other.labels)
  );
}

function podMayHelp(pod: Pod, { before, after }: EventOf<'Pod'>): boolean {
  const other = after ?? before;
  if (other === undefined) return false;
  if (before !== undefined && after?.metadata.uid === pod.metadata.uid) return true;
  if (!holdsNode(other)) return false;
  const own = podInfoOf(pod);
  const then = before === undefined ? undefined : podInfoOf(before);
  const now = after === undefined ? undefined : podInfoOf(after);
  const near = (one: PodInfo | undefined): boolean =>
    one !== undefined && own.requiredAffinity.length > 0 && own.requiredAffinity.every((term) => mayMatch(term, one));
  const far = (one: PodInfo | undefined): boolean =>
    one !== undefined && own.requiredAntiAffinity.some((term) => mayMatch(term, one));
  // When the last matching pod is removed, the first pod of a group may run anywhere again.
  if (near(then) !== near(now)) return true;
  if (far(then) && !far(now)) return true;
  return now === undefined && then !== undefined && then.requiredAntiAffinity.some((term) => mayMatch(term, own));
}

function nodeMayHelp(pod: Pod, { before, after }: EventOf<'Node'>): boolean {
  // The pods of a removed node are removed too, possibly without separate events.
  if (after === undefined) return true;
  const own = podInfoOf(pod);
  // Other pods' anti-affinity caused the rejection, and its topology keys are unknown here.
  if (own.requiredAffinity.length === 0 && own.requiredAntiAffinity.length === 0) return true;
  if (before === undefined)
    return (
      own.requiredAntiAffinity.length > 0 ||
      own.requiredAffinity.some(({ topologyKey }) => ownValue(after.metadata.labels, topologyKey) !== undefined)
    );
  return [...own.requiredAffinity, ...own.requiredAntiAffinity].some(
    ({ topologyKey }) => ownValue(before.metadata.labels, topologyKey) !== ownValue(after.metadata.labels, topologyKey),
  );
}
