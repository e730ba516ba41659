import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import { daemonSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { newControllerRef } from '../../controller-runtime/controller-ref.ts';
import { hashTemplate, withLabel } from '../../controller-runtime/pod-template.ts';
import {
  compareRevisions,
  isRevisionOf,
  nextRevision,
  REVISION_HASH_LABEL,
  templatePatch,
} from '../../controller-runtime/template-revision.ts';

/** Builds the revision of the current template. Its name derives from the template, so that it is created only once. */
export function buildRevision(daemonSet: DaemonSet, revision: number | bigint): ControllerRevision {
  const { metadata, spec, status } = daemonSet;
  const hash = hashTemplate(spec.template, status?.collisionCount);
  return {
    metadata: {
      name: `${metadata.name}-${hash}`,
      namespace: metadata.namespace,
      uid: '',
      labels: withLabel(spec.template.metadata.labels, REVISION_HASH_LABEL, hash),
      ...(metadata.annotations !== undefined && { annotations: metadata.annotations }),
      ownerReferences: [newControllerRef(daemonSets, daemonSet)],
    },
    data: templatePatch(spec.template),
    revision,
  };
}

export interface HistoryPlan {
  /** The revision of the template. If it is absent, it must be created. */
  readonly current: ControllerRevision | undefined;
  /**
   * The duplicates with the same template. Their pods are relabelled to the current revision, then they are deleted.
   */
  readonly duplicates: readonly ControllerRevision[];
  readonly old: readonly ControllerRevision[];
  /** The minimum number of the current revision. */
  readonly revision: number | bigint;
}

export function planHistory(daemonSet: DaemonSet, revisions: readonly ControllerRevision[]): HistoryPlan {
  const same = revisions.filter((each) => isRevisionOf(daemonSet.spec.template, each)).toSorted(compareRevisions);
  const old = revisions.filter((each) => !same.includes(each));
  return {
    current: same.at(-1),
    duplicates: same.slice(0, -1),
    old,
    revision: nextRevision(old),
  };
}

export const hashOf = (revision: ControllerRevision): string =>
  revision.metadata.labels?.[REVISION_HASH_LABEL] ?? revision.metadata.name;

/** Selects old revisions beyond the history limit without pods, oldest first. */
export function selectForgotten(
  daemonSet: DaemonSet,
  old: readonly ControllerRevision[],
  pods: readonly Pod[],
): ControllerRevision[] {
  const surplus = old.length - (daemonSet.spec.revisionHistoryLimit ?? 10);
  if (surplus <= 0) return [];
  const used = new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_HASH_LABEL]));
  const unused = old.filter((each) => !used.has(hashOf(each))).toSorted(compareRevisions);
  return unused.slice(0, surplus);
}
