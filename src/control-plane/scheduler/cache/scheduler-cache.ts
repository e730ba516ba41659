import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { KeyedMatcher } from '../framework/label-matcher.ts';
import { NodeInfo } from '../framework/node-info.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { ClusterObjects, Snapshot } from '../framework/snapshot.ts';
import { MatchCounts } from './match-counts.ts';
import { Nominator } from './nominator.ts';
import { orderByZones, zoneOf } from './node-order.ts';

interface Placement {
  readonly info: PodInfo;
  readonly nodeName: string;
  /** Whether this scheduler chose the node and the API does not show the binding yet. */
  readonly isAssumed: boolean;
}

/**
 * The nodes and the pods on them, assumed pods included. Invariants:
 * 1. The cost of an event depends on the size of its change, not on the size of the cluster.
 * 2. A pod is on at most one node. The state in the API replaces an assumption.
 * 3. A pod may arrive before its node and stay after it, because the two watches are independent. Such pods are stored
 *    separately, and plugins do not see their node.
 */
export class SchedulerCache implements Snapshot {
  readonly objects: ClusterObjects;
  readonly nominator = new Nominator();
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #placements = new Map<string, Placement>();
  /** Pods whose node does not exist: node name → UID → pod. */
  readonly #podsOfUnknownNodes = new Map<string, Map<string, PodInfo>>();
  readonly #withAffinity = new Set<NodeInfo>();
  readonly #withAntiAffinity = new Set<NodeInfo>();
  readonly #imageSpread = new Map<string, number>();
  readonly #claimUsers = new Map<string, number>();
  readonly #matchCounts = new MatchCounts(() => this.#nodes.values());
  #order: readonly NodeInfo[] | undefined;

  constructor(objects: ClusterObjects) {
    this.objects = objects;
  }

  nodes(): readonly NodeInfo[] {
    this.#order ??= orderByZones(this.#nodes.values());
    return this.#order;
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  nodesWithAffinity(): Iterable<NodeInfo> {
    return this.#withAffinity;
  }

  nodesWithRequiredAntiAffinity(): Iterable<NodeInfo> {
    return this.#withAntiAffinity;
  }

  matching(namespace: string, selector: KeyedMatcher): ReadonlyMap<NodeInfo, number> {
    return this.#matchCounts.of(namespace, selector);
  }

  imageSpread(image: string): number {
    return this.#imageSpread.get(image) ?? 0;
  }

  isClaimUsed(key: string): boolean {
    return this.#claimUsers.has(key);
  }

  nominatedPods(nodeName: string): Iterable<PodInfo> {
    return this.nominator.on(nodeName).values();
  }

  /** Adds or replaces a node. */
  setNode(node: Node): void {
    const { name } = node.metadata;
    const known = this.#nodes.get(name);
    if (known === undefined) {
      const info = new NodeInfo(node);
      this.#nodes.set(name, info);
      this.#order = undefined;
      for (const pod of this.#podsOfUnknownNodes.get(name)?.values() ?? []) this.#putOn(info, pod);
      this.#podsOfUnknownNodes.delete(name);
      this.#countImages(info, 1);
      return;
    }
    const zone = zoneOf(known);
    this.#countImages(known, -1);
    known.setNode(node);
    this.#countImages(known, 1);
    if (zoneOf(known) !== zone) this.#order = undefined;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined) return;
    this.#nodes.delete(name);
    this.#order = undefined;
    this.#withAffinity.delete(info);
    this.#withAntiAffinity.delete(info);
    this.#matchCounts.forgetNode(info);
    this.#countImages(info, -1);
    if (info.pods.size > 0) this.#podsOfUnknownNodes.set(name, new Map(info.pods));
  }

  /** Adds a pod that is bound according to the API. It replaces an assumption about the pod. */
  setPod(pod: Pod): void {
    this.#place({ info: podInfoOf(pod), nodeName: pod.spec.nodeName ?? '', isAssumed: false });
  }

  removePod(uid: string): void {
    this.#unplace(uid);
  }

  /** Counts the pod on its chosen node until the API shows the binding. `pod` names the node already. */
  assume(pod: Pod): void {
    this.#place({ info: podInfoOf(pod), nodeName: pod.spec.nodeName ?? '', isAssumed: true });
  }

  /** Removes an assumption. If the API has shown a state of the pod in the meantime, that state stays. */
  forget(uid: string): void {
    if (this.isAssumed(uid)) this.#unplace(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#placements.get(uid)?.isAssumed === true;
  }

  /** Returns the pod as the cache counts it, if it is on a node. */
  placedPod(uid: string): Pod | undefined {
    return this.#placements.get(uid)?.info.pod;
  }

  get podCount(): number {
    return this.#placements.size;
  }

  #place(placement: Placement): void {
    const { info, nodeName } = placement;
    this.#unplace(info.uid);
    this.#placements.set(info.uid, placement);
    for (const claim of info.claims) this.#claimUsers.set(claim, (this.#claimUsers.get(claim) ?? 0) + 1);
    const node = this.#nodes.get(nodeName);
    if (node !== undefined) return this.#putOn(node, info);
    const waiting = this.#podsOfUnknownNodes.get(nodeName) ?? new Map<string, PodInfo>();
    this.#podsOfUnknownNodes.set(nodeName, waiting.set(info.uid, info));
  }

  #unplace(uid: string): void {
    const placement = this.#placements.get(uid);
    if (placement === undefined) return;
    this.#placements.delete(uid);
    for (const claim of placement.info.claims) {
      const users = (this.#claimUsers.get(claim) ?? 0) - 1;
      if (users > 0) this.#claimUsers.set(claim, users);
      else this.#claimUsers.delete(claim);
    }
    const node = this.#nodes.get(placement.nodeName);
    if (node !== undefined) {
      node.removePod(uid);
      this.#matchCounts.change(placement.info, node, -1);
      this.#noteAffinity(node);
      return;
    }
    const waiting = this.#podsOfUnknownNodes.get(placement.nodeName);
    waiting?.delete(uid);
    if (waiting?.size === 0) this.#podsOfUnknownNodes.delete(placement.nodeName);
  }

  #putOn(node: NodeInfo, info: PodInfo): void {
    node.addPod(info);
    this.#matchCounts.change(info, node, 1);
    this.#noteAffinity(node);
  }

  #noteAffinity(node: NodeInfo): void {
    if (node.podsWithAffinity.size > 0) this.#withAffinity.add(node);
    else this.#withAffinity.delete(node);
    if (node.podsWithRequiredAntiAffinity.size > 0) this.#withAntiAffinity.add(node);
    else this.#withAntiAffinity.delete(node);
  }

  #countImages(node: NodeInfo, by: 1 | -1): void {
    for (const image of node.images.keys()) {
      const spread = (this.#imageSpread.get(image) ?? 0) + by;
      if (spread > 0) this.#imageSpread.set(image, spread);
      else this.#imageSpread.delete(image);
    }
  }
}
