import type { OwnerReference } from '../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { isControlledBy } from '../../controller-runtime/controller-ref.ts';

export interface EphemeralPlan {
  readonly create: readonly { readonly volume: string; readonly claim: PersistentVolumeClaim }[];
  /** The first volume whose claim has another owner. Later volumes are not processed. */
  readonly conflict?: { readonly volume: string; readonly why: string };
}

export const ephemeralVolumes = ({ spec }: Pod): readonly Volume[] =>
  (spec.volumes ?? []).filter(({ ephemeral }) => ephemeral !== undefined);

/** Returns the missing claims of a pod's generic ephemeral volumes (upstream: ephemeral_volume handleVolume). */
export function planEphemeralClaims(
  pod: Pod,
  owner: OwnerReference,
  claimNamed: (name: string) => PersistentVolumeClaim | undefined,
): EphemeralPlan {
  const { namespace, name: podName } = pod.metadata;
  const create: { volume: string; claim: PersistentVolumeClaim }[] = [];
  for (const { name: volume, ephemeral } of ephemeralVolumes(pod)) {
    const template = ephemeral?.volumeClaimTemplate;
    if (template === undefined) continue;
    const name = `${podName}-${volume}`;
    const known = claimNamed(name);
    if (known !== undefined && !isControlledBy(known, pod)) {
      const why = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
      return { create, conflict: { volume, why } };
    }
    if (known !== undefined) continue;
    const { labels, annotations } = template.metadata ?? {};
    const metadata = {
      name,
      namespace,
      uid: '',
      ownerReferences: [owner],
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    };
    create.push({ volume, claim: { metadata, spec: template.spec } });
  }
  return { create };
}
