import type { Pod } from '../../../api/core/pod.ts';

/**
 * The seat of the API server among the sources: a list and watch of the pods bound to this node, which calls `setPods` with the whole
 * set after each change, for `PodConfig.setSource('api', …)`. It starts only after the node itself is known, and reports nothing
 * before its first complete list.
 */
export interface ApiPodSource {
  start(setPods: (pods: readonly Pod[]) => void): void;
  stop(): Promise<void>;
}
