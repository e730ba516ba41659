import type { Pod } from '../../../api/core/pod.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';

const none: ReadonlyMap<string, PodInfo> = new Map();
const nominatedNode = ({ status }: Pod): string => status?.nominatedNodeName ?? '';

/**
 * The nominated nodes of preemptors whose victims are still terminating; pods of lower priority must not use that room.
 */
export class Nominator {
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #nodeOf = new Map<string, string>();

  /** Returns the pods nominated for the node, by UID. */
  on(nodeName: string): ReadonlyMap<string, PodInfo> {
    return this.#byNode.get(nodeName) ?? none;
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  /**
   * Records the nominated node of the pod: `nodeName` if the scheduler has just decided it ('' removes the nomination),
   * else the node in the pod's status.
   */
  nominate(pod: Pod, nodeName: string = nominatedNode(pod)): void {
    const { uid } = pod.metadata;
    this.remove(uid);
    if (nodeName === '') return;
    this.#nodeOf.set(uid, nodeName);
    const pods = this.#byNode.get(nodeName) ?? new Map<string, PodInfo>();
    this.#byNode.set(nodeName, pods.set(uid, podInfoOf(pod)));
  }

  /**
   * Follows a change of the pod. A nomination whose status is not written yet is kept: neither version of the pod names
   * a node then.
   */
  update(before: Pod, after: Pod): void {
    const known = this.#nodeOf.get(after.metadata.uid);
    const isUnsaid = nominatedNode(before) === '' && nominatedNode(after) === '';
    this.nominate(after, known !== undefined && isUnsaid ? known : nominatedNode(after));
  }

  remove(uid: string): void {
    const nodeName = this.#nodeOf.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(uid);
    const pods = this.#byNode.get(nodeName);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byNode.delete(nodeName);
  }
}
