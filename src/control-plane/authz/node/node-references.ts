import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { SecretReference } from '../../../api/core/persistent-volume-remote.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isMirrorPod } from '../../../api/pod.ts';
import { resourceClaimNames } from '../../../api/resource/pod-claims.ts';
import { claimNames, configMapNames, secretNames } from '../../../api/pod-references.ts';

/** Objects that a pod can allow its node to read. */
export type ReferencedPlural =
  | 'pods'
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'resourceclaims'
  | 'serviceaccounts';

export const referenceKey = (plural: ReferencedPlural, namespace: string, name: string): string =>
  `${plural}/${namespace}/${name}`;

/**
 * Returns the keys of all objects that the pod allows its node to read. A mirror pod allows only itself: nodes create
 * mirror pods, and must not grant themselves rights with them (upstream: node authorizer's graph, AddPod).
 */
export function podReferences(pod: Pod): string[] {
  const { namespace, name } = pod.metadata;
  const keys = [referenceKey('pods', namespace, name)];
  if (isMirrorPod(pod)) return keys;
  const add = (plural: ReferencedPlural, names: Iterable<string>): void => {
    for (const each of names) keys.push(referenceKey(plural, namespace, each));
  };
  const { serviceAccountName } = pod.spec;
  if (serviceAccountName !== undefined && serviceAccountName !== '') add('serviceaccounts', [serviceAccountName]);
  add('secrets', secretNames(pod));
  add('configmaps', configMapNames(pod));
  add('persistentvolumeclaims', claimNames(pod));
  add('resourceclaims', resourceClaimNames(pod));
  return keys;
}

interface NamedSecret {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns the secrets that a node needs to use a bound volume, without those for the controllers of its driver
 * (upstream: persistentvolume VisitPVSecretNames).
 */
export function volumeSecrets({ spec }: PersistentVolume): readonly NamedSecret[] {
  const claimNamespace = spec.claimRef?.namespace ?? '';
  const inClaims = (reference: unknown): NamedSecret => named(reference, claimNamespace);
  const all = [
    azureSecret(spec.azureFile, claimNamespace),
    inClaims(field(spec.cephfs, 'secretRef')),
    named(field(spec.cinder, 'secretRef'), ''),
    inClaims(spec.flexVolume?.secretRef),
    inClaims(field(spec.rbd, 'secretRef')),
    inClaims(field(spec.scaleIO, 'secretRef')),
    inClaims(spec.iscsi?.secretRef),
    named(field(spec.storageos, 'secretRef'), ''),
    ...[spec.csi?.nodePublishSecretRef, spec.csi?.nodeStageSecretRef, spec.csi?.nodeExpandSecretRef].map(
      (reference: SecretReference | undefined) => named(reference, ''),
    ),
  ];
  return all.filter(({ namespace, name }) => namespace !== '' && name !== '');
}

const field = (source: unknown, name: string): unknown =>
  typeof source === 'object' && source !== null ? (source as Record<string, unknown>)[name] : undefined;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function named(reference: unknown, otherwise: string): NamedSecret {
  const namespace = text(field(reference, 'namespace'));
  return { namespace: namespace === '' ? otherwise : namespace, name: text(field(reference, 'name')) };
}

function azureSecret(source: unknown, claimNamespace: string): NamedSecret {
  const namespace = text(field(source, 'secretNamespace'));
  return { namespace: namespace === '' ? claimNamespace : namespace, name: text(field(source, 'secretName')) };
}
