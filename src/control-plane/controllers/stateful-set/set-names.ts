import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';

export const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
export const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index';
const LARGEST_ORDINAL = 2 ** 31 - 1;

/** Parses the set's name and the ordinal in a pod's name. Returns undefined if it has none. */
function parsePodName(name: string): { readonly parent: string; readonly ordinal: number } | undefined {
  const found = /^(.*)-([0-9]+)$/.exec(name);
  if (found === null) return undefined;
  const ordinal = Number(found[2]);
  return ordinal > LARGEST_ORDINAL ? undefined : { parent: found[1] ?? '', ordinal };
}

export function ordinalOf({ metadata }: ApiObject): number | undefined {
  return parsePodName(metadata.name)?.ordinal;
}

/** Whether the name of the pod matches the set. */
export function isMember(set: StatefulSet, { metadata }: ApiObject): boolean {
  return parsePodName(metadata.name)?.parent === set.metadata.name;
}

export const podName = (set: StatefulSet, ordinal: number): string => `${set.metadata.name}-${ordinal}`;

export function claimName(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${template.metadata.name}-${set.metadata.name}-${ordinal}`;
}

/** The possible names of the pod of a claim, because names of templates and of sets may both contain dashes. */
export function podNamesOfClaim(name: string): string[] {
  const names: string[] = [];
  for (let dash = name.indexOf('-'); dash >= 0; dash = name.indexOf('-', dash + 1)) {
    const rest = name.slice(dash + 1);
    if (rest.includes('-')) names.push(rest);
  }
  return names;
}

export const startOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;

export const replicasOf = ({ spec }: StatefulSet): number => spec.replicas ?? 1;

/** Whether the ordinal is in the set's range. */
export function isInRange(set: StatefulSet, ordinal: number): boolean {
  const start = startOrdinal(set);
  return ordinal >= start && ordinal < start + replicasOf(set);
}
