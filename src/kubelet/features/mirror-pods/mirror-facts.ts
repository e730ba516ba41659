import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod } from '../../../api/pod.ts';
import type { MirrorFacts } from './mirror-pod.ts';
import { isMirrorOf } from './mirror-pod.ts';

/** The pods of this node as the API server lists them. */
export interface ListedPods {
  isListed(): boolean;
  get(namespace: string, name: string): Pod | undefined;
}

export interface MirrorSources {
  readonly listed: ListedPods;
  /** Returns the wanted pod with this full name. */
  readonly byFullName: (fullName: string) => Pod | undefined;
  readonly nodeName: string;
  /** Returns the node object of the API; undefined while it does not exist. */
  readonly node: () => Node | undefined;
  /** Whether a static pod of this full name is being stopped. */
  readonly isEnding: (fullName: string) => boolean;
  readonly sourcesReady: () => boolean;
}

/** Returns the facts about a static pod and its mirror; undefined before the API server has listed its pods. */
export function readMirrorFacts(
  { listed, byFullName, nodeName, node: nodeNow, isEnding, sourcesReady }: MirrorSources,
  fullName: string,
): MirrorFacts | undefined {
  if (!listed.isListed()) return undefined;
  const pod = byFullName(fullName);
  const node = nodeNow();
  const separator = fullName.lastIndexOf('_');
  return {
    pod: pod !== undefined && isStaticPod(pod) ? pod : undefined,
    found: listed.get(fullName.slice(separator + 1), fullName.slice(0, separator)),
    node:
      node === undefined || node.metadata.deletionTimestamp !== undefined || node.metadata.uid === ''
        ? undefined
        : { name: nodeName, uid: node.metadata.uid },
    isEnding: isEnding(fullName),
    sourcesReady: sourcesReady(),
  };
}

/**
 * Returns the pod in the API that represents `pod`: itself, or the mirror of a static pod while it shows the current
 * one (upstream: TranslatePodUID).
 */
export function apiPodOf(listed: ListedPods, pod: Pod | undefined): Pod | undefined {
  if (pod === undefined || !listed.isListed()) return undefined;
  const found = listed.get(pod.metadata.namespace, pod.metadata.name);
  if (found === undefined) return undefined;
  const isIt = isStaticPod(pod) ? isMirrorOf(found, pod) : found.metadata.uid === pod.metadata.uid;
  return isIt ? found : undefined;
}
