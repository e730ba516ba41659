import { storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { compileNodeSelector } from '../framework/node-matcher.ts';
import type { NodeMatcher } from '../framework/node-matcher.ts';

/** Returns the claim name of a volume. The claim of an ephemeral volume is named after the pod and the volume. */
export function claimNameOf(
  pod: Pod,
  volume: Volume,
): { readonly name: string; readonly isEphemeral: boolean } | undefined {
  if (volume.persistentVolumeClaim !== undefined)
    return { name: volume.persistentVolumeClaim.claimName, isEphemeral: false };
  return volume.ephemeral === undefined
    ? undefined
    : { name: `${pod.metadata.name}-${volume.name}`, isEphemeral: true };
}

/** Whether any volume of the pod uses the claim. */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim | undefined): boolean {
  if (claim === undefined || claim.metadata.namespace !== pod.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some((volume) => claimNameOf(pod, volume)?.name === claim.metadata.name);
}

export function classOfClaim({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[storageAnnotations.betaClass] ?? spec.storageClassName ?? '';
}

export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.[storageAnnotations.betaClass] ?? spec.storageClassName ?? '';
}

/** Whether the claim is bound and has the annotation of the binding controller. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (spec.volumeName ?? '') !== '' && metadata.annotations?.[storageAnnotations.bindCompleted] !== undefined;
}

export function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const reference = spec.claimRef;
  if (reference === undefined || reference.name !== metadata.name || reference.namespace !== metadata.namespace)
    return false;
  return reference.uid === undefined || reference.uid === '' || reference.uid === metadata.uid;
}

/** The node matcher of each volume. It is null if all nodes can access the volume. */
const reach = new WeakMap<PersistentVolume, NodeMatcher | null>();
export function reachOf(volume: PersistentVolume): NodeMatcher | undefined {
  let matcher = reach.get(volume);
  if (matcher === undefined) {
    const required = volume.spec.nodeAffinity?.required;
    matcher = required === undefined ? null : compileNodeSelector(required);
    reach.set(volume, matcher);
  }
  return matcher ?? undefined;
}

/** Checks that an ephemeral claim belongs to the pod. An unrelated claim may have the same name. */
export function ephemeralProblem(pod: Pod, claim: PersistentVolumeClaim): string | undefined {
  const isOwned = (claim.metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => controller === true && uid === pod.metadata.uid,
  );
  const named = `${claim.metadata.namespace}/${claim.metadata.name}`;
  return isOwned
    ? undefined
    : `PVC ${named} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`;
}

export const claimNotFound = (name: string): string => `persistentvolumeclaim "${name}" not found`;
