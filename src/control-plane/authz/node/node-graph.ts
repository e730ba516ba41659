import {
  persistentVolumes,
  podCertificateRequests,
  pods,
  resourceSlices,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { podReferences, referenceKey, volumeSecrets } from './node-references.ts';

/**
 * Indexes which objects each node may access: by the references of its pods, and by the volumes of their claims.
 * Watches update it (upstream: plugin/pkg/auth/authorizer/node graph.go).
 */
export class NodeGraph {
  readonly #reader: ObjectReader;
  /** The number of pods with each reference, by node and reference. */
  readonly #references = new Map<string, Map<string, number>>();
  /** The names of bound volumes that need the Secret on a node, by Secret. */
  readonly #volumesOfSecret = new Map<string, Set<string>>();
  readonly #stops: readonly (() => void)[];

  constructor(reader: ObjectReader) {
    this.#reader = reader;
    this.#stops = [
      reader.onChange(pods, (before, after) => this.#podChanged(before, after)),
      reader.onChange(persistentVolumes, (before, after) => this.#volumeChanged(before, after)),
    ];
    for (const pod of reader.list(pods, '')) this.#podChanged(undefined, pod);
    for (const volume of reader.list(persistentVolumes, '')) this.#volumeChanged(undefined, volume);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** Whether a pod of the node has the reference, directly or through the volume of a claim. */
  refersTo(node: string, reference: string): boolean {
    if (this.#references.get(node)?.has(reference) === true) return true;
    const volumes = this.#volumesOfSecret.get(reference);
    if (volumes === undefined) return false;
    for (const name of volumes) if (this.usesVolume(node, name)) return true;
    return false;
  }

  /** Whether a pod of the node uses the claim of the PersistentVolume. */
  usesVolume(node: string, name: string): boolean {
    const claim = this.#reader.get(persistentVolumes, { namespace: '', name })?.spec.claimRef;
    return (
      claim !== undefined &&
      this.#references
        .get(node)
        ?.has(referenceKey('persistentvolumeclaims', claim.namespace ?? '', claim.name ?? '')) === true
    );
  }

  isAttachedTo(node: string, attachment: string): boolean {
    return this.#reader.get(volumeAttachments, { namespace: '', name: attachment })?.spec.nodeName === node;
  }

  /** Whether the slice contains only devices of the node. */
  ownsSlice(node: string, name: string): boolean {
    return this.#reader.get(resourceSlices, { namespace: '', name })?.spec.nodeName === node;
  }

  /** Whether the request is for a pod of the node. */
  requestedCertificate(node: string, namespace: string, name: string): boolean {
    return this.#reader.get(podCertificateRequests, { namespace, name })?.spec.nodeName === node;
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined): void {
    if (before !== undefined && after !== undefined && makesSameReferences(before, after)) return;
    // Add new references first, so that unchanged ones are not removed in between.
    if (after !== undefined) this.#count(after, 1);
    if (before !== undefined) this.#count(before, -1);
  }

  #count(pod: Pod, by: 1 | -1): void {
    const node = pod.spec.nodeName;
    if (node === undefined || node === '') return;
    let counts = this.#references.get(node);
    if (counts === undefined) this.#references.set(node, (counts = new Map()));
    for (const key of podReferences(pod)) {
      const count = (counts.get(key) ?? 0) + by;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
    }
    if (counts.size === 0) this.#references.delete(node);
  }

  #volumeChanged(before: PersistentVolume | undefined, after: PersistentVolume | undefined): void {
    for (const key of secretKeys(before)) {
      const volumes = this.#volumesOfSecret.get(key);
      volumes?.delete(before?.metadata.name ?? '');
      if (volumes?.size === 0) this.#volumesOfSecret.delete(key);
    }
    for (const key of secretKeys(after)) {
      const volumes = this.#volumesOfSecret.get(key) ?? new Set();
      volumes.add(after?.metadata.name ?? '');
      this.#volumesOfSecret.set(key, volumes);
    }
  }
}

/** Whether both versions have the same references. Of the status, only the claim names matter. */
function makesSameReferences(before: Pod, after: Pod): boolean {
  return (
    before.spec === after.spec &&
    before.metadata === after.metadata &&
    before.status?.resourceClaimStatuses === after.status?.resourceClaimStatuses &&
    before.status?.extendedResourceClaimStatus === after.status?.extendedResourceClaimStatus
  );
}

function secretKeys(volume: PersistentVolume | undefined): string[] {
  if (volume?.spec.claimRef === undefined) return [];
  return volumeSecrets(volume).map(({ namespace, name }) => referenceKey('secrets', namespace, name));
}
