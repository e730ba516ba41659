import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isExtendedResource } from '../../../api/resources.ts';
import { isClassResource, resourcesOf } from '../devices/extended-resources.ts';
import type { EventOf } from '../framework/cluster-event.ts';
import { NodeInfo } from '../framework/node-info.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import { checkWith } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { Rejection } from '../framework/rejection.ts';
import { amountFor } from '../framework/resources.ts';
import type { Resources } from '../framework/resources.ts';
import { defaultScoredResources, nonZeroAmounts, scoreAllocation } from './resource-scoring.ts';
import type { ScoringStrategy } from './resource-scoring.ts';

export interface NodeResourcesFitArgs {
  /** The extended resources that a scheduler extender manages. */
  readonly ignoredResources?: readonly string[];
  /** Ignores all resources whose name has one of these prefixes before the slash. */
  readonly ignoredResourceGroups?: readonly string[];
  readonly scoringStrategy?: ScoringStrategy;
}

const NAME = 'NodeResourcesFit';
const leastAllocated: ScoringStrategy = { type: 'LeastAllocated', resources: defaultScoredResources };

/** Filters nodes by free resources, and scores them by the resources that remain. */
export function createNodeResourcesFit(args: NodeResourcesFitArgs = {}): Plugin {
  const strategy = args.scoringStrategy ?? leastAllocated;
  const ignored = ignores(args);
  return {
    name: NAME,
    hints: {
      Pod: [{ actions: ['Delete', 'UpdatePodScaleDown'], mayHelp: freesRequestedResources }],
      Node: [{ actions: ['Add', 'UpdateNodeAllocatable'], mayHelp: (pod, event) => growsEnough(pod, event) }],
      DeviceClass: [{ actions: ['Add', 'Update'], mayHelp: providesRequestedResources }],
    },
    preFilter: (pod, { objects }) => {
      const classes = objects.extendedResources();
      const leaves: Ignores = (resource, capacity) =>
        ignored?.(resource, capacity) === true || (capacity === 0 && classes.classOf(resource) !== undefined);
      return checkWith((node) => findShortage(pod.wanted, node, leaves));
    },
    preScore: (pod) => {
      const amounts = nonZeroAmounts(pod, strategy.resources);
      return { score: (node) => scoreAllocation(strategy, amounts, node) };
    },
  };
}

/** Whether the filter ignores a resource, on a node with this capacity. */
type Ignores = ((resource: string, capacity: number) => boolean) | undefined;

function ignores({ ignoredResources = [], ignoredResourceGroups = [] }: NodeResourcesFitArgs): Ignores {
  if (ignoredResources.length === 0 && ignoredResourceGroups.length === 0) return undefined;
  const names = new Set(ignoredResources);
  const groups = new Set(ignoredResourceGroups);
  return (resource) =>
    isExtendedResource(resource) && (names.has(resource) || groups.has(resource.split('/')[0] ?? ''));
}

interface Shortage {
  readonly reason: string;
  /** Whether even the empty node is too small. */
  readonly forever: boolean;
}

/** Lists all insufficient resources, in upstream's order. */
function findShortage(wanted: Readonly<Resources>, node: NodeInfo, ignored?: Ignores): Rejection | undefined {
  let shortages: Shortage[] | undefined;
  if (node.pods.size + 1 > node.allowedPods) (shortages ??= []).push({ reason: 'Too many pods', forever: false });
  const { allocatable, requested } = node;
  const ask = (resource: string, amount: number, capacity: number, used: number): void => {
    if (amount > 0 && amount > capacity - used)
      (shortages ??= []).push({ reason: `Insufficient ${resource}`, forever: amount > capacity });
  };
  ask('cpu', wanted.cpuMillis, allocatable.cpuMillis, requested.cpuMillis);
  ask('memory', wanted.memoryBytes, allocatable.memoryBytes, requested.memoryBytes);
  ask(
    'ephemeral-storage',
    wanted.ephemeralStorageBytes,
    allocatable.ephemeralStorageBytes,
    requested.ephemeralStorageBytes,
  );
  for (const [resource, amount] of wanted.scalars) {
    const capacity = allocatable.scalars.get(resource) ?? 0;
    if (ignored?.(resource, capacity) !== true) ask(resource, amount, capacity, requested.scalars.get(resource) ?? 0);
  }
  if (shortages === undefined) return undefined;
  return {
    code: shortages.some(({ forever }) => forever) ? 'UnschedulableAndUnresolvable' : 'Unschedulable',
    reasons: shortages.map(({ reason }) => reason),
    plugin: NAME,
  };
}

function freesRequestedResources(pod: Pod, { before, after }: EventOf<'Pod'>): boolean {
  if (after === undefined) return before !== undefined && holdsNode(before);
  if (after.metadata.uid === pod.metadata.uid) return true;
  if (before === undefined || (after.spec.nodeName ?? '') === '') return false;
  const { requested: old } = podInfoOf(before);
  const { requested: now } = podInfoOf(after);
  const { wanted } = podInfoOf(pod);
  return namesOf(wanted).some((resource) => amountFor(old, resource) > amountFor(now, resource));
}

/** Whether the class serves a resource that the pod requests: under its implicit name or the name in its spec. */
function providesRequestedResources(pod: Pod, { after }: EventOf<'DeviceClass'>): boolean {
  const { scalars } = podInfoOf(pod).wanted;
  return after !== undefined && resourcesOf(after).some((resource) => scalars.has(resource));
}

/** Whether the pod is bound to a node or nominated for one. */
export function holdsNode(pod: Pod): boolean {
  return (pod.spec.nodeName ?? '') !== '' || (pod.status?.nominatedNodeName ?? '') !== '';
}

function namesOf(wanted: Readonly<Resources>): string[] {
  const named = ['cpu', 'memory', 'ephemeral-storage'].filter((resource) => amountFor(wanted, resource) > 0);
  return [...named, ...[...wanted.scalars].filter(([, amount]) => amount > 0).map(([resource]) => resource)];
}

function growsEnough(pod: Pod, { before, after }: EventOf<'Node'>): boolean {
  if (after === undefined) return false;
  const { wanted } = podInfoOf(pod);
  const empty = new NodeInfo(after);
  // A device class may provide a resource for which the node has no capacity.
  const mayBeServed = (resource: string, capacity: number): boolean => capacity === 0 && isClassResource(resource);
  if (findShortage(wanted, empty, mayBeServed) !== undefined) return false;
  return before === undefined || hasGrown(wanted, before, empty);
}

function hasGrown(wanted: Readonly<Resources>, before: Node, now: NodeInfo): boolean {
  const then = new NodeInfo(before);
  return (
    now.allowedPods > then.allowedPods ||
    namesOf(wanted).some((resource) => amountFor(now.allocatable, resource) > amountFor(then.allocatable, resource))
  );
}
