import { allContainers } from './pod.ts';
import type { Pod } from './core/pod.ts';
import type { Volume } from './core/volume.ts';

const named = (names: readonly (string | undefined)[]): Set<string> =>
  new Set(names.filter((name) => name !== undefined && name !== '')) as Set<string>;

function secretsOfVolume(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.storageos?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    ...(volume.projected?.sources ?? []).map((source) => source.secret?.name),
  ];
}

/**
 * The names of all Secrets in the pod's namespace that its spec refers to (upstream: api/v1/pod VisitPodSecretNames).
 */
export function secretNames(pod: Pod): Set<string> {
  const names: (string | undefined)[] = (pod.spec.imagePullSecrets ?? []).map((reference) => reference.name);
  for (const { container } of allContainers(pod)) {
    for (const source of container.envFrom ?? []) names.push(source.secretRef?.name);
    for (const variable of container.env ?? []) names.push(variable.valueFrom?.secretKeyRef?.name);
  }
  for (const volume of pod.spec.volumes ?? []) names.push(...secretsOfVolume(volume));
  return named(names);
}

/**
 * The names of all ConfigMaps in the pod's namespace that its spec refers to (upstream: api/v1/pod
 * VisitPodConfigmapNames).
 */
export function configMapNames(pod: Pod): Set<string> {
  const names: (string | undefined)[] = [];
  for (const { container } of allContainers(pod)) {
    for (const source of container.envFrom ?? []) names.push(source.configMapRef?.name);
    for (const variable of container.env ?? []) names.push(variable.valueFrom?.configMapKeyRef?.name);
  }
  for (const volume of pod.spec.volumes ?? []) {
    names.push(volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) names.push(source.configMap?.name);
  }
  return named(names);
}

/**
 * The names of the claims that the pod's volumes use: those in its spec, and those generated for its ephemeral volumes.
 */
export function claimNames(pod: Pod): Set<string> {
  return named(
    (pod.spec.volumes ?? []).map((volume) =>
      volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : `${pod.metadata.name}-${volume.name}`,
    ),
  );
}
