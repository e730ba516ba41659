import type { ConfigMap } from '../../api/core/config-map.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Secret } from '../../api/core/secret.ts';
import type { Service } from '../../api/core/service.ts';
import type { RuntimeClass } from '../../api/node/runtime-class.ts';
import type { CSIDriver } from '../../api/storage/csi-driver.ts';

/**
 * The objects, besides pods, that affect a node. A new kind needs a line here, in `clusterScopedKinds` and at each
 * source of objects.
 */
export interface ClusterKinds {
  readonly ConfigMap: ConfigMap;
  readonly Secret: Secret;
  readonly PersistentVolume: PersistentVolume;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly Service: Service;
  readonly RuntimeClass: RuntimeClass;
  readonly CSIDriver: CSIDriver;
}
export type ClusterKind = keyof ClusterKinds;

/** '' for a cluster-scoped kind. */
export interface ClusterObjectChange {
  readonly kind: ClusterKind;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The source of objects: a folder of manifests on a standalone node, and watches and caches on a node of a cluster.
 * Objects are immutable, so a changed one is a new object. Secrets have `stringData` merged into `data`.
 */
export interface ClusterObjects {
  /** Returns the object; undefined if it does not exist. Rejects with `Unavailable` while that is unknown. */
  get<Kind extends ClusterKind>(
    kind: Kind,
    namespace: string,
    name: string,
  ): ClusterKinds[Kind] | undefined | Promise<ClusterKinds[Kind] | undefined>;
  /** Returns all objects of a kind in one namespace, or in all namespaces if it is ''. */
  list<Kind extends ClusterKind>(
    kind: Kind,
    namespace: string,
  ): readonly ClusterKinds[Kind][] | Promise<readonly ClusterKinds[Kind][]>;
  /**
   * Calls `listener` for added, changed and removed objects after the change is visible. Returns a function that
   * unsubscribes.
   */
  onChange(listener: (change: ClusterObjectChange) => void): () => void;
}

/**
 * Keeps the objects of a pod available as long as the pod is on the node (upstream: secret_manager.go RegisterPod and
 * similar functions). Both methods may be called repeatedly.
 */
export interface PodObjects {
  /** Must be called before anything of the pod is created, and whenever its spec may refer to other objects. */
  registerPod(pod: Pod): void;
  /** Must be called when nothing of the pod is left and it no longer needs the objects. */
  unregisterPod(pod: Pod): void;
}
