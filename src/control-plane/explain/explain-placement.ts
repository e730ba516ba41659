import { findCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import { seededRandom } from '../../base/random.ts';
import type { Blocker } from '../../api/explanation/explanation.ts';
import { defaultSchedulerConfig, DEFAULT_SCHEDULER_NAME } from '../scheduler/config/scheduler-config.ts';
import type { Diagnosis } from '../scheduler/decide/diagnosis.ts';
import { NO_NODES_MESSAGE, schedulePod } from '../scheduler/decide/schedule-pod.ts';
import type { NodeInfo } from '../scheduler/framework/node-info.ts';
import { podInfoOf } from '../scheduler/framework/pod-info.ts';
import type { PodInfo } from '../scheduler/framework/pod-info.ts';
import type { Rejection } from '../scheduler/framework/rejection.ts';
import type { Snapshot } from '../scheduler/framework/snapshot.ts';
import { claimNotFound } from '../scheduler/plugins/claims.ts';
import { timeMs } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';

/** Suggestions for the refusal of a plugin. */
const suggestions: ReadonlyMap<string, string> = new Map([
  ['NodeResourcesFit', 'lower the requests of the pod, free resources on a node, or add a node'],
  ['TaintToleration', 'add a toleration to the pod, or remove the taint: kubectl taint node NODE KEY-'],
  ['NodeAffinity', 'label a node to match the pod, or change its nodeSelector or nodeAffinity'],
  ['NodeUnschedulable', 'make the node schedulable: kubectl uncordon NODE'],
  ['NodeName', 'set spec.nodeName to an existing node, or remove it'],
  ['NodePorts', 'use another hostPort, or stop the pod that uses it'],
  ['InterPodAffinity', 'check podAffinity and podAntiAffinity of this pod and of the pods on the nodes'],
  ['PodTopologySpread', 'relax topologySpreadConstraints: raise maxSkew, or set whenUnsatisfiable: ScheduleAnyway'],
  ['VolumeBinding', 'check the claims of the pod: kubectl get pvc'],
  ['VolumeZone', 'add a node in the zone of the volume'],
  ['VolumeRestrictions', 'stop the pod that uses the same disk or claim'],
  ['NodeVolumeLimits', 'add a node: this one cannot attach more volumes'],
  ['NodeDeclaredFeatures', 'add a node whose kubelet has the feature'],
  [
    'DynamicResources',
    'check the resource claims of the pod and the devices of the nodes: kubectl get resourceclaims,resourceslices',
  ],
]);

/** The maximum number of nodes that are named. Others are only counted. */
const MOST_NODES = 50;

/**
 * Explains why a pod has no node, by the last message of the scheduler and the current reason for each node. It runs
 * the scheduler's plugins on the view.
 */
export function explainPlacement(pod: Pod, view: Pick<ClusterView, 'unseen'>, snapshotOf: () => Snapshot): Blocker {
  const said = findCondition(pod.status?.conditions, 'PodScheduled');
  const sinceMs = timeMs(said?.lastTransitionTime) ?? timeMs(pod.metadata.creationTimestamp) ?? 0;
  const base = { step: 'find a node', sinceMs, ...(said?.message !== undefined && { lastError: said.message }) };
  const name = pod.spec.schedulerName ?? DEFAULT_SCHEDULER_NAME;
  const profile = defaultSchedulerConfig().profiles.get(name);
  if (profile === undefined) {
    const hasReported = said !== undefined;
    return {
      ...base,
      cause: hasReported
        ? `its scheduler ${name} has found no node`
        : `its scheduler ${name} has not reported anything`,
      suggestions: hasReported ? [] : [`check that ${name} is running, or remove schedulerName`],
    };
  }
  // What is free on a node depends on all pods on it.
  if (view.unseen.has('nodes') || view.unseen.has('pods'))
    return {
      ...base,
      cause: 'the scheduler has found no node; reasons for each node need permission to list all nodes and pods',
    };
  const snapshot = snapshotOf();
  const decision = schedulePod(
    snapshot,
    podInfoOf(pod),
    { ...profile, scores: [], postFilters: [] },
    { start: 0, random: seededRandom(1) },
  );
  switch (decision.kind) {
    case 'noNodes':
      return { ...base, cause: NO_NODES_MESSAGE, suggestions: ['add a node'] };
    case 'placed': {
      if (said === undefined)
        return {
          ...base,
          cause: `the scheduler has not processed it yet; node ${decision.nodeName} fits`,
          suggestions: ['if this persists, check that a scheduler is running'],
        };
      return { ...base, cause: `node ${decision.nodeName} fits now; the scheduler has not retried yet` };
    }
    case 'unschedulable':
      return { ...base, ...explainDiagnosis(decision.diagnosis, pod, snapshot) };
  }
}

function explainDiagnosis(
  { rejections, absent, preFilterReasons, nodeCount }: Diagnosis,
  pod: Pod,
  snapshot: Snapshot,
): Pick<Blocker, 'cause' | 'details' | 'suggestions'> {
  const all = [...rejections.values(), ...(preFilterReasons.length > 0 || rejections.size < nodeCount ? [absent] : [])];
  // Several plugins read claims; the first one that runs reports a missing claim.
  const missing = claimNamesOf(pod).map(claimNotFound);
  const plugins = new Set(
    all.map(({ plugin, reasons }) => (reasons.some((reason) => missing.includes(reason)) ? 'VolumeBinding' : plugin)),
  );
  const cause =
    preFilterReasons.length > 0
      ? preFilterReasons.join(', ')
      : nodeCount === 1
        ? 'the only node does not fit'
        : `none of ${nodeCount} nodes fits`;
  const details = nodeDetails(rejections, (nodeName) => snapshot.node(nodeName), podInfoOf(pod));
  return {
    cause,
    ...(details.length > 0 && { details }),
    suggestions: [...plugins].flatMap((plugin) => suggestions.get(plugin) ?? []),
  };
}

const claimNamesOf = ({ spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

function nodeDetails(
  rejections: ReadonlyMap<string, Rejection>,
  nodeOf: (name: string) => NodeInfo | undefined,
  pod: PodInfo,
): readonly string[] {
  const lines = [...rejections]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(
      ([name, { reasons }]) => `${name}: ${reasons.map((reason) => withAmounts(reason, nodeOf(name), pod)).join(', ')}`,
    );
  return lines.length <= MOST_NODES ? lines : [...lines.slice(0, MOST_NODES), `and ${lines.length - MOST_NODES} more`];
}

function withAmounts(reason: string, node: NodeInfo | undefined, { requested }: PodInfo): string {
  if (node === undefined) return reason;
  if (reason === 'Insufficient cpu')
    return `${reason} (asks for ${cores(requested.cpuMillis)}, free ${cores(node.allocatable.cpuMillis - node.requested.cpuMillis)} of ${cores(node.allocatable.cpuMillis)})`;
  if (reason === 'Insufficient memory')
    return `${reason} (asks for ${mebibytes(requested.memoryBytes)}, free ${mebibytes(node.allocatable.memoryBytes - node.requested.memoryBytes)} of ${mebibytes(node.allocatable.memoryBytes)})`;
  return reason === 'Too many pods' ? `${reason} (${node.pods.size} of ${node.allowedPods})` : reason;
}

const cores = (millis: number): string => (millis % 1000 === 0 ? String(millis / 1000) : `${millis}m`);
const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)}Mi`;
