import { nodeTaints } from '../../../api/annotations.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import { daemonSets } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import type { PodTemplateSpec } from '../../../api/core/pod-template.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Affinity, Toleration } from '../../../api/core/scheduling.ts';
import { matchesNodeAffinity, untoleratedTaint } from '../../../api/node-selection.ts';
import { withLabel } from '../../controller-runtime/pod-template.ts';
import { podFromTemplate } from '../../controller-runtime/pod-control.ts';
import { REVISION_HASH_LABEL } from '../../controller-runtime/template-revision.ts';

const TEMPLATE_GENERATION_LABEL = 'pod-template-generation';
const TEMPLATE_GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';
const NAME_FIELD = 'metadata.name';

const exists = (key: string, effect: 'NoExecute' | 'NoSchedule'): Toleration => ({ key, operator: 'Exists', effect });
/** Taints that daemon pods tolerate (upstream: AddOrUpdateDaemonPodTolerations). */
const daemonTolerations: readonly Toleration[] = [
  exists(nodeTaints.notReady, 'NoExecute'),
  exists(nodeTaints.unreachable, 'NoExecute'),
  exists(nodeTaints.diskPressure, 'NoSchedule'),
  exists(nodeTaints.memoryPressure, 'NoSchedule'),
  exists(nodeTaints.pidPressure, 'NoSchedule'),
  exists(nodeTaints.unschedulable, 'NoSchedule'),
];
const hostNetworkToleration = exists(nodeTaints.networkUnavailable, 'NoSchedule');

function withDaemonTolerations(spec: PodSpec): Toleration[] {
  const tolerations = [...(spec.tolerations ?? [])];
  for (const added of spec.hostNetwork === true ? [...daemonTolerations, hostNetworkToleration] : daemonTolerations) {
    const same = tolerations.findIndex(
      ({ key, effect, operator, value = '' }) =>
        key === added.key && effect === added.effect && operator === added.operator && value === '',
    );
    if (same < 0) tolerations.push(added);
    else tolerations[same] = added;
  }
  return tolerations;
}

/**
 * Whether a daemon pod should start on a node, and whether an existing one may stay: NoSchedule taints do not end it.
 */
export interface Eligibility {
  readonly starts: boolean;
  readonly stays: boolean;
}

/** Caches the result for one template; a node is checked again only after it changed. */
export class NodeEligibility {
  readonly #spec: PodSpec;
  readonly #known = new WeakMap<Node, Eligibility>();

  constructor(template: PodTemplateSpec) {
    this.#spec = { ...template.spec, tolerations: withDaemonTolerations(template.spec) };
  }

  of(node: Node): Eligibility {
    let known = this.#known.get(node);
    if (known === undefined) this.#known.set(node, (known = this.#judge(node)));
    return known;
  }

  #judge(node: Node): Eligibility {
    const { nodeName = '' } = this.#spec;
    if ((nodeName !== '' && nodeName !== node.metadata.name) || !matchesNodeAffinity({ spec: this.#spec }, node))
      return { starts: false, stays: false };
    const taints = node.spec?.taints ?? [];
    const pod = { spec: this.#spec };
    if (untoleratedTaint(pod, taints, false, ['NoExecute', 'NoSchedule']) === undefined)
      return { starts: true, stays: true };
    return { starts: false, stays: untoleratedTaint(pod, taints, false) === undefined };
  }
}

/**
 * Builds the pod for a node. Node affinity makes the scheduler place it there, so that it is counted and preempts like
 * any other pod.
 */
export function buildDaemonPod(daemonSet: DaemonSet, hash: string, nodeName: string): Pod {
  const { metadata, spec } = daemonSet.spec.template;
  const generation = daemonSet.metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION];
  const marked = withLabel(metadata.labels, REVISION_HASH_LABEL, hash);
  const labels =
    generation !== undefined && /^[0-9]+$/.test(generation)
      ? withLabel(marked, TEMPLATE_GENERATION_LABEL, generation)
      : marked;
  const template = {
    metadata: { ...metadata, labels },
    spec: { ...spec, tolerations: withDaemonTolerations(spec), affinity: onNode(spec.affinity, nodeName) },
  };
  return podFromTemplate(daemonSets, daemonSet, template);
}

function onNode(affinity: Affinity | undefined, nodeName: string): Affinity {
  const nodeSelectorTerms = [{ matchFields: [{ key: NAME_FIELD, operator: 'In' as const, values: [nodeName] }] }];
  return {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}

/** Returns the node on which the pod runs, or for which it was created, or undefined if that is unknown. */
export function targetNode({ spec }: Pod): string | undefined {
  if ((spec.nodeName ?? '') !== '') return spec.nodeName;
  for (const { matchFields = [] } of spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    ?.nodeSelectorTerms ?? []) {
    for (const { key, operator, values = [] } of matchFields)
      if (key === NAME_FIELD && operator === 'In' && values.length === 1) return values[0];
  }
  return undefined;
}

export function isUpdated(daemonSet: DaemonSet, pod: Pod, hash: string): boolean {
  const { labels } = pod.metadata;
  const generation = daemonSet.metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION];
  return (
    labels?.[REVISION_HASH_LABEL] === hash ||
    (generation !== undefined && labels?.[TEMPLATE_GENERATION_LABEL] === generation)
  );
}

/** Sorts scheduled pods before others, then by age, the oldest first. */
export function oldestFirst(pods: readonly Pod[]): Pod[] {
  const on = ({ spec }: Pod): number => Number((spec.nodeName ?? '') === '');
  const at = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  return pods.toSorted(
    (left, right) =>
      on(left) - on(right) || compareText(at(left), at(right)) || compareText(left.metadata.name, right.metadata.name),
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
