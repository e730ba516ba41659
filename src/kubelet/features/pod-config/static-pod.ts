import { annotations } from '../../../api/annotations.ts';
import { shownUrl } from '../../../base/shown-url.ts';
import { configMapNames, secretNames } from '../../../api/pod-references.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { canonicalJson } from './canonical-json.ts';
import { fnv128a } from './fnv128a.ts';

/** The manifest of a static pod. `server` manifests are stored on this node, so they are treated like files. */
export type ManifestOrigin =
  | { kind: 'file'; path: string }
  | { kind: 'http'; url: string }
  | { kind: 'server'; name: string };

/** Returns the origin's name in messages. */
export function originName(origin: ManifestOrigin): string {
  if (origin.kind === 'file') return origin.path;
  return origin.kind === 'http' ? shownUrl(origin.url) : `manifests/${origin.name}`;
}

const surviveNodeProblems: Toleration = { operator: 'Exists', effect: 'NoExecute' };

/**
 * Converts a pod to the form in which this node runs it (upstream: config/common.go applyDefaults). The UID is a hash
 * of pod, node and origin unless the manifest sets one, so that any change of content makes another pod. The node's
 * name is appended to the pod's name. The namespace has its default, the pod is bound to this node, and its status is
 * Pending. The hash covers content and not layout: order of fields, comments and white space do not matter.
 */
export function toStaticPod(pod: Pod, origin: ManifestOrigin, nodeName: string): Pod {
  const uid = pod.metadata.uid === '' ? staticPodUid(pod, origin, nodeName) : pod.metadata.uid;
  const metadata = {
    ...pod.metadata,
    uid,
    name: `${pod.metadata.name}-${nodeName.toLowerCase()}`,
    namespace: pod.metadata.namespace === '' ? 'default' : pod.metadata.namespace,
    annotations: { ...pod.metadata.annotations, [annotations.configHash]: uid },
  };
  const tolerations = origin.kind === 'http' ? pod.spec.tolerations : withToleration(pod.spec.tolerations ?? []);
  return {
    ...pod,
    metadata,
    spec: { ...pod.spec, nodeName, ...(tolerations === undefined ? {} : { tolerations }) },
    status: { phase: 'Pending' },
  };
}

function staticPodUid(pod: Pod, origin: ManifestOrigin, nodeName: string): string {
  const content = canonicalJson({ metadata: pod.metadata, spec: pod.spec });
  switch (origin.kind) {
    case 'file':
      return fnv128a(`${content}host:${nodeName}file:${origin.path}`);
    case 'server':
      return fnv128a(`${content}host:${nodeName}server:${origin.name}`);
    case 'http':
      return fnv128a(`${content}url:${origin.url}`);
  }
}

function withToleration(tolerations: readonly Toleration[]): Toleration[] {
  const has = tolerations.some(
    (each) =>
      each.effect === surviveNodeProblems.effect &&
      each.operator === surviveNodeProblems.operator &&
      (each.key ?? '') === '' &&
      (each.value ?? '') === '' &&
      each.tolerationSeconds === undefined,
  );
  return has ? [...tolerations] : [...tolerations, surviveNodeProblems];
}

/**
 * Returns the first reference to an API object that a static pod may not have, as the resource's name for "static pods
 * may not reference …"; undefined if there is none (upstream: api/pod HasAPIObjectReference, gate
 * PreventStaticPodAPIReferences). With `localObjects` (standalone), ConfigMaps, Secrets, claims and drivers come from
 * the manifest folder and are allowed. Other references are not, because there is no source for them.
 */
export function selectForbiddenReference(pod: Pod, allow: { localObjects: boolean }): string | undefined {
  if ((pod.spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  if (!allow.localObjects) {
    if (secretNames(pod).size > 0) return 'secrets';
    if (configMapNames(pod).size > 0) return 'configmaps';
  }
  if ((pod.spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of pod.spec.volumes ?? []) {
    const forbidden = forbiddenInVolume(volume, allow.localObjects);
    if (forbidden !== undefined) return forbidden;
  }
  return undefined;
}

function forbiddenInVolume(volume: Volume, localObjects: boolean): string | undefined {
  if (volume.configMap !== undefined && !localObjects) return 'configmaps (via configmap volumes)';
  if (volume.secret !== undefined && !localObjects) return 'secrets (via secret volumes)';
  if (volume.csi !== undefined && !localObjects) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined && !localObjects) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined && !localObjects) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (volume.azureFile !== undefined) return 'secrets (via azureFile volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap !== undefined && !localObjects) return 'configmaps (via projected volumes)';
    if (source.secret !== undefined && !localObjects) return 'secrets (via projected volumes)';
    if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (source.podCertificate !== undefined) return 'podcertificates';
  }
  return undefined;
}
