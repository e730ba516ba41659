import type { Pod } from '../../../api/core/pod.ts';
import { claimNames, configMapNames, secretNames } from '../../../api/pod-references.ts';

export type WatchedKind = 'Secret' | 'ConfigMap';

/** How a pod uses an object: as files, which must follow its changes, or in ways that read it each time. */
export interface ObjectUse {
  readonly kind: WatchedKind;
  readonly namespace: string;
  readonly name: string;
  readonly follows: boolean;
}

/** The objects that a pod needs. */
export interface PodNeeds {
  readonly objects: readonly ObjectUse[];
  readonly claims: readonly string[];
  readonly namespace: string;
  readonly runtimeClass: string;
}

/**
 * Computes the objects that a pod needs, from its spec alone (upstream: secret and config map managers, RegisterPod).
 */
export function computeNeeds(pod: Pod): PodNeeds {
  const { namespace } = pod.metadata;
  const asFiles = filesOf(pod);
  const uses = (kind: WatchedKind, names: Iterable<string>): ObjectUse[] =>
    [...names].map((name) => ({ kind, namespace, name, follows: asFiles.has(`${kind}/${name}`) }));
  return {
    objects: [...uses('Secret', secretNames(pod)), ...uses('ConfigMap', configMapNames(pod))],
    claims: [...claimNames(pod)],
    namespace,
    runtimeClass: pod.spec.runtimeClassName ?? '',
  };
}

function filesOf(pod: Pod): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { secret, configMap, projected, csi } of pod.spec.volumes ?? []) {
    found
      .add(`Secret/${secret?.secretName ?? ''}`)
      .add(`Secret/${csi?.nodePublishSecretRef?.name ?? ''}`)
      .add(`ConfigMap/${configMap?.name ?? ''}`);
    for (const source of projected?.sources ?? [])
      found.add(`Secret/${source.secret?.name ?? ''}`).add(`ConfigMap/${source.configMap?.name ?? ''}`);
  }
  return found;
}
