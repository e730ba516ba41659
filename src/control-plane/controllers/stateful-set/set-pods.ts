import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { statefulSets } from '../../../api/client/resource-types.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import type { PodTemplateSpec } from '../../../api/core/pod-template.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podFromTemplate } from '../../controller-runtime/pod-control.ts';
import { REVISION_HASH_LABEL } from '../../controller-runtime/template-revision.ts';
import { claimName, ordinalOf, POD_INDEX_LABEL, podName, POD_NAME_LABEL, startOrdinal } from './set-names.ts';

/** A pod template with the name of its revision. */
export interface SetRevision {
  readonly name: string;
  readonly template: PodTemplateSpec;
}

export interface SetRevisions {
  /** The revision of pods that are not updated yet. */
  readonly current: SetRevision;
  /** The revision of the set's current template. */
  readonly update: SetRevision;
}

/**
 * Builds the pod for an ordinal: with the current revision below the partition, otherwise with the new one (upstream:
 * newVersionedStatefulSetPod).
 */
export function buildSetPod(set: StatefulSet, { current, update }: SetRevisions, ordinal: number): Pod {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const kept = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
  const isKept = (type === 'RollingUpdate' || rollingUpdate !== undefined) && ordinal < startOrdinal(set) + kept;
  const revision = isKept ? current : update;
  const pod = podFromTemplate(statefulSets, set, revision.template);
  const name = podName(set, ordinal);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name,
      labels: { ...pod.metadata.labels, ...identityLabels(name, ordinal), [REVISION_HASH_LABEL]: revision.name },
    },
    spec: {
      ...pod.spec,
      ...withClaims(set, pod.spec, ordinal),
      hostname: name,
      ...(set.spec.serviceName !== '' && { subdomain: set.spec.serviceName }),
    },
  };
}

function identityLabels(name: string, ordinal: number): Record<string, string> {
  return { [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) };
}

/** Returns the volumes with the pod's own claims first, instead of those with the same names. */
function withClaims(set: StatefulSet, spec: PodSpec, ordinal: number): Pick<PodSpec, 'volumes'> {
  const own = new Map(
    (set.spec.volumeClaimTemplates ?? []).map((template) => [
      template.metadata.name,
      { name: template.metadata.name, persistentVolumeClaim: { claimName: claimName(set, template, ordinal) } },
    ]),
  );
  const volumes = [...own.values(), ...(spec.volumes ?? []).filter(({ name }) => !own.has(name))];
  return volumes.length === 0 ? {} : { volumes };
}

/** Whether the pod has the label and the volumes of its ordinal. */
export function isConsistent(set: StatefulSet, pod: Pod): boolean {
  const ordinal = ordinalOf(pod);
  if (ordinal === undefined || pod.metadata.labels?.[POD_NAME_LABEL] !== pod.metadata.name) return false;
  const claims = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume.persistentVolumeClaim]));
  return (set.spec.volumeClaimTemplates ?? []).every(
    (template) => claims.get(template.metadata.name)?.claimName === claimName(set, template, ordinal),
  );
}

/** Returns the pod with the labels and volumes of its ordinal. */
export function repairedPod(set: StatefulSet, pod: Pod): Pod {
  const ordinal = ordinalOf(pod) ?? 0;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, ...identityLabels(pod.metadata.name, ordinal) },
    },
    spec: { ...pod.spec, ...withClaims(set, pod.spec, ordinal) },
  };
}

export const revisionOf = ({ metadata }: Pod): string => metadata.labels?.[REVISION_HASH_LABEL] ?? '';
