import type { Pod } from '../../../api/core/pod.ts';
import { canonicalQuantity, quantitySign, quantityValue } from '../../../api/quantity.ts';
import { podLimits } from '../../../api/resources.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { PodDiskUse } from './pod-usage.ts';

/** The label of the metric. It is not a signal of the node. */
export type LocalStorageSignal = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

export interface ExceededLimit {
  readonly signal: LocalStorageSignal;
  readonly message: string;
}

const STORAGE = 'ephemeral-storage';

/** Whether the pod has a limit of ephemeral storage. Other pods are not measured. */
export function hasStorageLimit(pod: Pod): boolean {
  return (
    (pod.spec.volumes ?? []).some(({ emptyDir }) => sizeLimitOf(emptyDir?.sizeLimit) !== undefined) ||
    podLimits(pod)[STORAGE] !== undefined
  );
}

/**
 * Returns the first of its own limits that the pod exceeds, in upstream's order and words, or undefined when it exceeds
 * none (upstream: eviction_manager.go localStorageEviction).
 */
export function exceededLimit(pod: Pod, use: PodDiskUse, layout: DiskLayout): ExceededLimit | undefined {
  return exceededVolume(pod, use) ?? exceededPod(pod, use) ?? exceededContainer(pod, use, layout);
}

function sizeLimitOf(text: string | undefined): string | undefined {
  return text === undefined || quantitySign(text) <= 0 ? undefined : text;
}

function exceededVolume(pod: Pod, { volumes }: PodDiskUse): ExceededLimit | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = sizeLimitOf(emptyDir?.sizeLimit);
    const used = volumes.get(name)?.usedBytes;
    if (limit === undefined || used === undefined || used <= quantityValue(limit)) continue;
    return {
      signal: 'emptydirfs.limit',
      message: `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `,
    };
  }
  return undefined;
}

function exceededPod(pod: Pod, { total }: PodDiskUse): ExceededLimit | undefined {
  const limit = podLimits(pod)[STORAGE];
  if (limit === undefined || total.usedBytes <= quantityValue(limit)) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${canonicalQuantity(limit)}. `,
  };
}

/**
 * Returns the first container above its limit. Writable layers on a separate file system do not count, as in upstream.
 */
function exceededContainer(pod: Pod, { layers, logs }: PodDiskUse, layout: DiskLayout): ExceededLimit | undefined {
  for (const { name, resources } of pod.spec.containers) {
    const limit = resources?.limits?.[STORAGE];
    if (limit === undefined || quantitySign(limit) === 0) continue;
    const ofLayer = layout === 'shared' ? (layers.get(name)?.usedBytes ?? 0) : 0;
    if (ofLayer + (logs.get(name)?.usedBytes ?? 0) <= quantityValue(limit)) continue;
    return {
      signal: 'ephemeralcontainerfs.limit',
      message: `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(limit)}". `,
    };
  }
  return undefined;
}
