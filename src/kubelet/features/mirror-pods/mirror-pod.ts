import { annotations } from '../../../api/annotations.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isDeleted, isMirrorPod } from '../../../api/pod.ts';

/**
 * Whether `mirror` shows the current `pod`, by the hash of its manifest (upstream: pod/mirror_client.go IsMirrorPodOf).
 */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const { name, namespace } = pod.metadata;
  return (
    mirror.metadata.name === name && mirror.metadata.namespace === namespace && mirrorHashOf(mirror) === hashOf(pod)
  );
}

/** Returns the hash in the annotation; empty for a pod that is not a mirror. */
export const mirrorHashOf = (mirror: Pod): string => mirror.metadata.annotations?.[annotations.configMirror] ?? '';

/**
 * Builds the mirror of a static pod for the API server. Its owner is the node, so that it is removed with the node
 * (upstream: NodeRestriction).
 */
export function buildMirror(pod: Pod, node: { name: string; uid: string }): Pod {
  const { name, namespace, labels } = pod.metadata;
  return {
    metadata: {
      name,
      namespace,
      uid: '',
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...pod.metadata.annotations, [annotations.configMirror]: hashOf(pod) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true }],
    },
    spec: pod.spec,
  };
}

export interface MirrorFacts {
  /** The static pod of the name; undefined if there is none. */
  pod: Pod | undefined;
  /** The pod of that name in the API. */
  readonly found: Pod | undefined;
  /** The node; undefined while it is not in the API, or is being deleted. */
  node: { name: string; uid: string } | undefined;
  /**
   * Whether a static pod of the name is being stopped. It is shown until it is removed, even if the next pod of the
   * name already waits.
   */
  isEnding: boolean;
  /** Whether all sources have reported. Then a mirror without a pod is an orphan. */
  sourcesReady: boolean;
}

export type MirrorAction =
  | { kind: 'nothing' }
  | { kind: 'delete'; mirror: Pod }
  | { kind: 'create'; mirror: Pod }
  | { kind: 'blocked'; by: Pod };

/**
 * Decides what happens to a mirror (upstream: kubelet.go tryReconcileMirrorPods, kubelet_pods.go HandlePodCleanups).
 */
export function computeMirrorAction({ pod, found, node, isEnding, sourcesReady }: MirrorFacts): MirrorAction {
  if (found !== undefined && !isMirrorPod(found))
    return pod === undefined ? { kind: 'nothing' } : { kind: 'blocked', by: found };
  // The mirror shows the pod that is being stopped (upstream: only SyncPod replaces it, which runs when the previous
  // pod has ended).
  if (isEnding) return { kind: 'nothing' };
  if (pod === undefined)
    return found === undefined || !sourcesReady ? { kind: 'nothing' } : { kind: 'delete', mirror: found };
  // A mirror that an earlier node of this name owns would be removed with that node.
  if (found !== undefined)
    return isDeleted(found) || !isMirrorOf(found, pod) || isOfAnother(found, node)
      ? { kind: 'delete', mirror: found }
      : { kind: 'nothing' };
  return node === undefined ? { kind: 'nothing' } : { kind: 'create', mirror: buildMirror(pod, node) };
}

function isOfAnother(mirror: Pod, node: MirrorFacts['node']): boolean {
  const owner = mirror.metadata.ownerReferences?.find(({ kind }) => kind === 'Node');
  return node !== undefined && owner !== undefined && owner.uid !== node.uid;
}

function hashOf(pod: Pod): string {
  return pod.metadata.annotations?.[annotations.configHash] ?? '';
}
