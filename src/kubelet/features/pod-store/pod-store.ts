import { claimNames, configMapNames, secretNames } from '../../../api/pod-references.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isMirrorPod, isStaticPod, podFullName } from '../../../api/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ClusterKind } from '../../ports/cluster-objects.ts';

/**
 * Stores the pods that this node should run, as their sources want them (upstream: pod/pod_manager.go). A mirror pod is
 * stored beside the static pod of the same full name and is never run. Invariants:
 * 1. A UID is in exactly one of two indexes: pods to run, or mirror pods.
 * 2. The index of references covers only pods to run.
 */
export class PodStore {
  readonly #byUid = new Map<PodUid, Pod>();
  readonly #byFullName = new Map<string, Pod>();
  readonly #mirrorsByUid = new Map<PodUid, Pod>();
  readonly #mirrorsByFullName = new Map<string, Pod>();
  readonly #references = new Map<string, Set<PodUid>>();

  /** Adds a pod, or replaces the one with the same UID. */
  set(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    this.remove(uid);
    if (isMirrorPod(pod)) {
      this.#mirrorsByUid.set(uid, pod);
      this.#mirrorsByFullName.set(podFullName(pod), pod);
      return;
    }
    this.#byUid.set(uid, pod);
    this.#byFullName.set(podFullName(pod), pod);
    for (const key of referencesOf(pod)) {
      const users = this.#references.get(key) ?? new Set();
      this.#references.set(key, users.add(uid));
    }
  }

  /** Removes a pod. A missing pod is not an error. */
  remove(uid: PodUid): void {
    const pod = this.#byUid.get(uid);
    if (pod !== undefined) {
      this.#byUid.delete(uid);
      this.#dropName(this.#byFullName, pod);
      for (const key of referencesOf(pod)) this.#dropReference(key, uid);
    }
    const mirror = this.#mirrorsByUid.get(uid);
    if (mirror === undefined) return;
    this.#mirrorsByUid.delete(uid);
    this.#dropName(this.#mirrorsByFullName, mirror);
  }

  /** Returns the pods to run, without mirror pods. */
  pods(): Pod[] {
    return [...this.#byUid.values()];
  }

  staticPods(): Pod[] {
    return this.pods().filter(isStaticPod);
  }

  mirrorPods(): Pod[] {
    return [...this.#mirrorsByUid.values()];
  }

  get size(): number {
    return this.#byUid.size;
  }

  /** Returns a pod to run, by UID. */
  byUid(uid: PodUid): Pod | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns a pod to run, by `name_namespace`. If a successor has the name, it is the successor. */
  byFullName(fullName: string): Pod | undefined {
    return this.#byFullName.get(fullName);
  }

  byName(namespace: string, name: string): Pod | undefined {
    return this.byFullName(`${name}_${namespace}`);
  }

  mirrorByUid(uid: PodUid): Pod | undefined {
    return this.#mirrorsByUid.get(uid);
  }

  /** Returns the mirror pod of a static pod. */
  mirrorOf(pod: Pod): Pod | undefined {
    return this.#mirrorsByFullName.get(podFullName(pod));
  }

  /** Returns the static pod of a mirror pod. */
  staticOf(mirror: Pod): Pod | undefined {
    const pod = this.#byFullName.get(podFullName(mirror));
    return pod !== undefined && isStaticPod(pod) ? pod : undefined;
  }

  /**
   * Returns the UID of the pod that actually runs: that of the static pod for a mirror pod, else the same UID
   * (upstream: TranslatePodUID).
   */
  runningUid(uid: PodUid): PodUid {
    const mirror = this.#mirrorsByUid.get(uid);
    const pod = mirror === undefined ? undefined : this.staticOf(mirror);
    return pod === undefined ? uid : podUid(pod.metadata.uid);
  }

  /** Returns the mirror pods without a static pod, which must be deleted from the API. */
  orphanMirrors(): Pod[] {
    return this.mirrorPods().filter((mirror) => this.staticOf(mirror) === undefined);
  }

  /** Returns the pods whose spec names this object. The result is empty for kinds that pods do not name directly. */
  podsUsing(kind: ClusterKind, namespace: string, name: string): Pod[] {
    const users = this.#references.get(referenceKey(kind, namespace, name)) ?? [];
    return [...users].map((uid) => this.#byUid.get(uid)).filter((pod) => pod !== undefined);
  }

  #dropName(names: Map<string, Pod>, pod: Pod): void {
    const fullName = podFullName(pod);
    // A newer pod may have the name already.
    if (names.get(fullName)?.metadata.uid !== pod.metadata.uid) return;
    names.delete(fullName);
    const heir = [...(names === this.#byFullName ? this.#byUid : this.#mirrorsByUid).values()].findLast(
      (each) => podFullName(each) === fullName,
    );
    if (heir !== undefined) names.set(fullName, heir);
  }

  #dropReference(key: string, uid: PodUid): void {
    const users = this.#references.get(key);
    users?.delete(uid);
    if (users?.size === 0) this.#references.delete(key);
  }
}

const referenceKey = (kind: ClusterKind, namespace: string, name: string): string => `${kind} ${namespace}/${name}`;

function referencesOf(pod: Pod): string[] {
  const { namespace } = pod.metadata;
  const { runtimeClassName = '' } = pod.spec;
  return [
    ...[...configMapNames(pod)].map((name) => referenceKey('ConfigMap', namespace, name)),
    ...[...secretNames(pod)].map((name) => referenceKey('Secret', namespace, name)),
    ...[...claimNames(pod)].map((name) => referenceKey('PersistentVolumeClaim', namespace, name)),
    ...(runtimeClassName === '' ? [] : [referenceKey('RuntimeClass', '', runtimeClassName)]),
  ];
}
