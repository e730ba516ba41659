import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityMilliValue } from '../../../api/quantity.ts';
import { podReasons } from '../../../api/reasons.ts';
import { hasPodLevelResources } from '../../../api/resources.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { noCpus } from '../../model/cpu-set.ts';
import { isGuaranteedAlone } from '../../model/guaranteed-container.ts';
import type { AllocationProblem, NumaMask, TopologyHint } from '../../model/topology-hints.ts';
import { countNodes, hintsOf, unexpectedProblem } from '../../model/topology-hints.ts';
import type { CpuTopology } from './cpu-topology.ts';
import { distributeCpus } from './distribute-cpus.ts';
import type { StaticPolicyOptions } from './policy-options.ts';
import { takeCpus } from './take-cpus.ts';

/** The static policy of this node (upstream: cpumanager/policy_static.go). */
export interface StaticPolicy {
  readonly topology: CpuTopology;
  readonly options: StaticPolicyOptions;
  /** The CPUs that are never allocated exclusively. */
  readonly reserved: CpuSet;
  /** The gate PodLevelResourceManagers, with which pods with pod-level resources get exclusive CPUs. */
  readonly podLevel: boolean;
}

type PodLevel = Pick<StaticPolicy, 'podLevel'>;

/**
 * Computes the reserved CPUs: the configured ones, else the first ones of the machine, core by core. Returns a string
 * with the reason if they cannot be reserved (upstream: NewStaticPolicy).
 */
export function computeReservedCpus(
  topology: CpuTopology,
  options: StaticPolicyOptions,
  { named, count }: { named: readonly number[]; count: number },
): CpuSet | string {
  if (count === 0)
    return '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero';
  const reserved =
    named.length > 0 ? new Set(named) : (selectCpus({ topology, options }, topology.all, count) ?? noCpus);
  return reserved.size === count
    ? reserved
    : `[cpumanager] unable to reserve the required amount of CPUs (size of ${[...reserved].join(',')} did not equal ${count})`;
}

/**
 * Returns the number of exclusive CPUs of the container: whole CPUs of a Guaranteed pod, or 0 for a container in a
 * shared pool. In a pod with pod-level resources, a container needs equal requests and limits, and the gate
 * PodLevelResourceManagers must be on (upstream: guaranteedCPUs).
 */
export function exclusiveCpuCount({ podLevel }: PodLevel, pod: Pod, container: Pick<Container, 'resources'>): number {
  const count = wholeCpus(container.resources?.requests?.['cpu']);
  if (count === 0 || podQos(pod) !== 'Guaranteed') return 0;
  return !hasPodLevelResources(pod) || (podLevel && isGuaranteedAlone(container)) ? count : 0;
}

function wholeCpus(amount = '0'): number {
  const millis = quantityMilliValue(amount);
  return millis > 0 && millis % 1000 === 0 ? millis / 1000 : 0;
}

/**
 * Returns the largest number of CPUs that the pod has at one time, or the CPUs of the pod itself if it has pod-level
 * resources (upstream: podGuaranteedCPUs, KEP-753).
 */
export function podCpuCount(policy: PodLevel, pod: Pod): number {
  if (policy.podLevel && hasPodLevelResources(pod))
    return podQos(pod) === 'Guaranteed' ? wholeCpus(pod.spec.resources?.requests?.['cpu']) : 0;
  let sidecars = 0;
  let most = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCpuCount(policy, pod, container);
    if (isRestartableInit(container)) sidecars += count;
    else most = Math.max(most, sidecars + count);
  }
  const running = pod.spec.containers.reduce(
    (sum, container) => sum + exclusiveCpuCount(policy, pod, container),
    sidecars,
  );
  return Math.max(most, running);
}

/** Returns why a request does not consist of whole cores (upstream: enforceSMTAlignment). `free` is the shared pool. */
export function smtProblem(policy: StaticPolicy, free: CpuSet, count: number): AllocationProblem | undefined {
  const { topology, options, reserved } = policy;
  if (!options.fullPhysicalCpus) return undefined;
  const perCore = topology.cpusPerCore;
  const refused = (why: string): AllocationProblem => ({
    reason: podReasons.smtAlignmentError,
    message: `SMT Alignment Error: ${why}`,
  });
  if (count % perCore !== 0) return refused(`requested ${count} cpus not multiple cpus per core = ${perCore}`);
  // A core that contains a reserved CPU can never be allocated as a whole.
  const tainted = topology.idsOf('core', reserved);
  const whole = topology.places(free).filter(({ core }) => !tainted.has(core)).length;
  return count > whole
    ? refused(
        `not enough free physical CPUs: available physical CPUs = ${whole}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
      )
    : undefined;
}

/** Takes CPUs of the nodes in `affinity` first, and then of any node (upstream: allocateCPUs). */
export function allocateCpus(
  policy: StaticPolicy,
  available: CpuSet,
  { count, affinity }: { count: number; affinity: NumaMask | undefined },
): CpuSet | AllocationProblem {
  const near = affinity === undefined ? noCpus : alignedCpus(policy, available, affinity);
  const aligned = selectCpus(policy, near, Math.min(near.size, count)) ?? noCpus;
  const [rest, needed] = [available.difference(aligned), count - aligned.size];
  const others = selectCpus(policy, rest, needed);
  return others === undefined
    ? unexpectedProblem(`not enough cpus available to satisfy request: requested=${needed}, available=${rest.size}`)
    : aligned.union(others);
}

function alignedCpus({ topology, options }: StaticPolicy, available: CpuSet, affinity: NumaMask): CpuSet {
  const nodes = new Set(topology.numaIdsOf(affinity));
  const near = topology.places(topology.all).filter(({ numa }) => nodes.has(numa));
  const sockets = new Set(near.map(({ socket }) => socket));
  const isNear = options.alignBySocket
    ? ({ socket }: { socket: number }) => sockets.has(socket)
    : ({ numa }: { numa: number }) => nodes.has(numa);
  return new Set(
    topology
      .places(available)
      .filter(isNear)
      .map(({ cpu }) => cpu),
  );
}

/** Selects CPUs by the options of the policy. Returns undefined if there are too few (upstream: takeByTopology). */
export function selectCpus(
  { topology, options }: Pick<StaticPolicy, 'topology' | 'options'>,
  available: CpuSet,
  count: number,
): CpuSet | undefined {
  if (options.distributeAcrossNuma)
    return distributeCpus(topology, available, count, options.fullPhysicalCpus ? topology.cpusPerCore : 1);
  return takeCpus(topology, available, count, {
    spread: options.distributeAcrossCores,
    alignUncore: options.alignUncore,
  });
}

/**
 * Returns the sets of NUMA nodes that can serve a request for `count` CPUs. `reusable` are CPUs of the same pod, which
 * must be used (upstream: generateCPUTopologyHints).
 */
export function cpuHints(
  { topology, options }: StaticPolicy,
  { available, reusable, count }: { available: CpuSet; reusable: CpuSet; count: number },
): TopologyHint[] {
  const nodes = topology.numaIds.length;
  const whole = topology.countByNuma(topology.all);
  const own = topology.countByNuma(reusable);
  const free = topology.countByNuma(available);
  const total = (counts: readonly number[], mask: NumaMask): number =>
    counts.reduce((sum, value, position) => sum + ((mask >> position) & 1 ? value : 0), 0);
  const hasCpus = whole.reduce((mask, value, position) => (value > 0 ? mask | (1 << position) : mask), 0);
  const mustHave = own.reduce((mask, value, position) => (value > 0 ? mask | (1 << position) : mask), 0);
  let least = topology.numaNodesWithCpus;
  for (let mask = 1; mask < 2 ** nodes; mask += 1) {
    if ((mask & hasCpus) === mask && total(whole, mask) >= count) least = Math.min(least, countNodes(mask));
  }
  const hints = hintsOf(nodes, {
    least,
    serves: (mask) =>
      (mask & hasCpus) === mask && (mask & mustHave) === mustHave && total(own, mask) + total(free, mask) >= count,
  });
  if (!options.alignBySocket) return hints;
  return hints.map((hint) => ({ ...hint, preferred: hint.preferred || isSocketAligned(topology, hint, least) }));
}

/** Whether the nodes of the hint span no more sockets than the request needs (upstream: isHintSocketAligned). */
function isSocketAligned(topology: CpuTopology, { affinity = 0 }: TopologyHint, least: number): boolean {
  const perSocket = Math.floor(topology.numaNodesWithCpus / topology.sockets);
  if (perSocket === 0) return false;
  const nodes = new Set(topology.numaIdsOf(affinity));
  const sockets = new Set(
    topology.places(topology.all).flatMap(({ numa, socket }) => (nodes.has(numa) ? [socket] : [])),
  );
  return sockets.size === Math.ceil(least / perSocket);
}
