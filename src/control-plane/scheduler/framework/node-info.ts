import { lookupTable } from '../../../base/lookup.ts';
import type { Node, Taint } from '../../../api/core/node.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import { noLabels } from './label-matcher.ts';
import type { PodInfo } from './pod-info.ts';
import { accumulate, amountOf, copyResources, resourcesOf, zeroResources } from './resources.ts';
import type { Resources } from './resources.ts';
import { UsedPorts } from './used-ports.ts';

const noTaints: readonly Taint[] = [];

/**
 * A node with the sums over its pods, updated pod by pod. The cost of adding or removing a pod depends on that pod
 * alone. Only the cache and dry runs (on copies) change a NodeInfo; decisions read it.
 */
export class NodeInfo {
  #node: Node;
  #labels: Labels = noLabels;
  #taints: readonly Taint[] = noTaints;
  #allocatable: Resources = zeroResources();
  #allowedPods = 0;
  #images: ReadonlyMap<string, number> = new Map();
  readonly #pods: Map<string, PodInfo>;
  readonly #withAffinity: Map<string, PodInfo>;
  readonly #withRequiredAntiAffinity: Map<string, PodInfo>;
  readonly #requested: Resources;
  #nonZeroCpuMillis: number;
  #nonZeroMemoryBytes: number;
  readonly #ports: UsedPorts;
  #generation = 0;

  constructor(node: Node, from?: NodeInfo) {
    this.#node = node;
    this.#pods = new Map(from?.pods);
    this.#withAffinity = new Map(from?.podsWithAffinity);
    this.#withRequiredAntiAffinity = new Map(from?.podsWithRequiredAntiAffinity);
    this.#requested = from === undefined ? zeroResources() : copyResources(from.requested);
    this.#nonZeroCpuMillis = from?.nonZeroCpuMillis ?? 0;
    this.#nonZeroMemoryBytes = from?.nonZeroMemoryBytes ?? 0;
    this.#ports = from === undefined ? new UsedPorts() : from.usedPorts.clone();
    if (from === undefined) this.setNode(node);
    else this.#copyNodeFrom(from);
  }

  get node(): Node {
    return this.#node;
  }
  get name(): string {
    return this.#node.metadata.name;
  }
  get labels(): Labels {
    return this.#labels;
  }
  get taints(): readonly Taint[] {
    return this.#taints;
  }
  get allocatable(): Readonly<Resources> {
    return this.#allocatable;
  }
  get allowedPods(): number {
    return this.#allowedPods;
  }
  /** The image sizes in bytes, by normalized name (`normalizeImageName`). */
  get images(): ReadonlyMap<string, number> {
    return this.#images;
  }
  /** The pods on the node, by UID. */
  get pods(): ReadonlyMap<string, PodInfo> {
    return this.#pods;
  }
  get podsWithAffinity(): ReadonlyMap<string, PodInfo> {
    return this.#withAffinity;
  }
  get podsWithRequiredAntiAffinity(): ReadonlyMap<string, PodInfo> {
    return this.#withRequiredAntiAffinity;
  }
  get requested(): Readonly<Resources> {
    return this.#requested;
  }
  get nonZeroCpuMillis(): number {
    return this.#nonZeroCpuMillis;
  }
  get nonZeroMemoryBytes(): number {
    return this.#nonZeroMemoryBytes;
  }
  get usedPorts(): UsedPorts {
    return this.#ports;
  }
  /** The number of changes so far. */
  get generation(): number {
    return this.#generation;
  }

  setNode(node: Node): void {
    this.#node = node;
    this.#labels = node.metadata.labels === undefined ? noLabels : lookupTable(node.metadata.labels);
    this.#taints = node.spec?.taints ?? noTaints;
    this.#allocatable = resourcesOf(node.status?.allocatable);
    this.#allowedPods = amountOf(node.status?.allocatable?.['pods'] ?? '0', false);
    this.#images = imageSizes(node);
    this.#generation++;
  }

  /** Adds a pod, or replaces it if it is on the node already. */
  addPod(info: PodInfo): void {
    this.removePod(info.uid);
    this.#pods.set(info.uid, info);
    if (info.hasAffinity) this.#withAffinity.set(info.uid, info);
    if (info.requiredAntiAffinity.length > 0) this.#withRequiredAntiAffinity.set(info.uid, info);
    this.#account(info, 1);
  }

  /** Removes a pod and returns it if it was on the node. */
  removePod(uid: string): PodInfo | undefined {
    const info = this.#pods.get(uid);
    if (info === undefined) return undefined;
    this.#pods.delete(uid);
    this.#withAffinity.delete(uid);
    this.#withRequiredAntiAffinity.delete(uid);
    this.#account(info, -1);
    return info;
  }

  /** Copies the node for a dry run. Changes of the copy do not affect the original. */
  clone(): NodeInfo {
    return new NodeInfo(this.#node, this);
  }

  #copyNodeFrom(from: NodeInfo): void {
    this.#labels = from.labels;
    this.#taints = from.taints;
    this.#allocatable = from.#allocatable;
    this.#allowedPods = from.allowedPods;
    this.#images = from.images;
  }

  #account(info: PodInfo, sign: 1 | -1): void {
    accumulate(this.#requested, info.requested, sign);
    this.#nonZeroCpuMillis += sign * info.nonZero.cpuMillis;
    this.#nonZeroMemoryBytes += sign * info.nonZero.memoryBytes;
    for (const port of info.hostPorts) {
      if (sign === 1) this.#ports.add(port);
      else this.#ports.remove(port);
    }
    this.#generation++;
  }
}

function imageSizes(node: Node): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { names, sizeBytes } of node.status?.images ?? [])
    for (const name of names) sizes.set(name, Number(sizeBytes ?? 0));
  return sizes;
}

/** Writes an image name as node statuses do: with a tag, by default `latest`. */
export function normalizeImageName(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name;
}
