import type { ConfigMap } from '../../api/core/config-map.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Secret } from '../../api/core/secret.ts';
import type { Service } from '../../api/core/service.ts';
import type { RuntimeClass } from '../../api/node/runtime-class.ts';
import type { CSIDriver } from '../../api/storage/csi-driver.ts';

/** The objects, beside pods, that shape what a node does. Adding a kind is a line here, in `clusterScopedKinds` and at each source of objects. */
export interface ClusterKinds {
  ConfigMap: ConfigMap;
  Secret: Secret;
  PersistentVolume: PersistentVolume;
  PersistentVolumeClaim: PersistentVolumeClaim;
  Service: Service;
  RuntimeClass: RuntimeClass;
  CSIDriver: CSIDriver;
}
export type ClusterKind = keyof ClusterKinds;

/** Of a kind that is in no namespace, `namespace` is ''. */
export interface ClusterObjectChange {
  kind: ClusterKind;
  namespace: string;
  name: string;
}

/**
 * Where features look objects up: a folder of manifests on a node of its own, watches and caches on a node of a cluster. Objects are values: a
 * changed one is a new object. Secrets have `stringData` folded into `data`.
 */
export interface ClusterObjects {
  /** undefined for what does not exist; rejects with `Unavailable` while that cannot be known. */
  get<Kind extends ClusterKind>(
    kind: Kind,
    namespace: string,
    name: string,
  ): ClusterKinds[Kind] | undefined | Promise<ClusterKinds[Kind] | undefined>;
  /** All of a kind, in one namespace or, with '', in all. */
  list<Kind extends ClusterKind>(
    kind: Kind,
    namespace: string,
  ): readonly ClusterKinds[Kind][] | Promise<readonly ClusterKinds[Kind][]>;
  /** Calls `listener` for what appears, changes or vanishes, once it is in place; returns the function that ends it. */
  onChange(listener: (change: ClusterObjectChange) => void): () => void;
}

/** Who must have the objects of a pod at hand for as long as the pod is on the node (upstream: secret_manager.go RegisterPod and its kin). Both are said again and again. */
export interface PodObjects {
  /** Before anything of the pod is made, and again whenever its spec may name others. */
  registerPod(pod: Pod): void;
  /** Nothing of the pod is left that could need them. */
  unregisterPod(pod: Pod): void;
}
