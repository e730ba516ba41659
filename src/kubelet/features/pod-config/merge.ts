import { annotations } from '../../../api/annotations.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podFullName } from '../../../api/pod.ts';
import type { PodOperation, PodSource, PodUpdate } from '../../model/pod-update.ts';
import { sameContent } from '../../../base/same-content.ts';

/**
 * A pod of a source: as the source last sent it, and as the agent stores it with its local annotations. Both are
 * immutable.
 */
export interface MergedPod {
  readonly given: Pod;
  readonly pod: Pod;
}

export interface Merge {
  /** The new pods of the source, by UID. */
  readonly pods: ReadonlyMap<string, MergedPod>;
  /** The updates in the order of delivery: REMOVE, ADD, UPDATE, DELETE, RECONCILE. None is empty. */
  readonly updates: readonly PodUpdate[];
  /** Pods that were skipped because an earlier one of the same source has their name or UID. */
  readonly duplicates: readonly Pod[];
}

/** The agent's own annotations, which are ignored when pods are compared. */
const localAnnotations: readonly string[] = [
  annotations.configSource,
  annotations.configMirror,
  annotations.configSeen,
];

/**
 * Computes the changes of one source between `previous` and the complete new set `next` (upstream: config/config.go).
 * The UID identifies a pod. Changes of the spec, labels, deletion fields and foreign annotations make an UPDATE (or a
 * DELETE if deletionTimestamp is set). A change of the status alone makes a RECONCILE.
 */
export function computeMerge(
  previous: ReadonlyMap<string, MergedPod>,
  next: readonly Pod[],
  source: PodSource,
  nowMs: number,
): Merge {
  const pods = new Map<string, MergedPod>();
  const lists: Record<PodOperation, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const { kept, duplicates } = selectDistinct(next);
  for (const given of kept) {
    const before = previous.get(given.metadata.uid);
    const { merged, op } =
      before === undefined
        ? { merged: addedPod(given, source, nowMs), op: 'ADD' as const }
        : mergeOne(before, given, source);
    pods.set(given.metadata.uid, merged);
    if (op !== undefined) lists[op].push(merged.pod);
  }
  for (const [uid, gone] of previous) if (!pods.has(uid)) lists.REMOVE.push(gone.pod);
  const updates = (['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'] as const)
    .filter((op) => lists[op].length > 0)
    .map((op) => ({ op, source, pods: lists[op] }));
  return { pods, updates, duplicates };
}

function selectDistinct(pods: readonly Pod[]): { kept: Pod[]; duplicates: Pod[] } {
  const names = new Set<string>();
  const uids = new Set<string>();
  const kept: Pod[] = [];
  const duplicates: Pod[] = [];
  for (const pod of pods) {
    const fullName = podFullName(pod);
    if (names.has(fullName) || uids.has(pod.metadata.uid)) {
      duplicates.push(pod);
      continue;
    }
    names.add(fullName);
    uids.add(pod.metadata.uid);
    kept.push(pod);
  }
  return { kept, duplicates };
}

function withAnnotations(pod: Pod, local: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...local } } };
}

function addedPod(given: Pod, source: PodSource, nowMs: number): MergedPod {
  return {
    given,
    pod: withAnnotations(given, {
      [annotations.configSource]: source,
      [annotations.configSeen]: new Date(nowMs).toISOString(),
    }),
  };
}

function mergeOne(
  before: MergedPod,
  given: Pod,
  source: PodSource,
): { merged: MergedPod; op: PodOperation | undefined } {
  // A source passes the same object again if its file did not change, so there is nothing to compare.
  if (before.given === given) return { merged: before, op: undefined };
  const old = before.pod;
  if (!differSemantically(old, given)) {
    if (sameContent(old.status, given.status)) return { merged: { given, pod: old }, op: undefined };
    return { merged: { given, pod: { ...old, status: given.status } }, op: 'RECONCILE' };
  }
  const local: Record<string, string> = {};
  for (const key of localAnnotations) {
    const value = old.metadata.annotations?.[key];
    if (value !== undefined) local[key] = value;
  }
  local[annotations.configSource] = source;
  return {
    merged: { given, pod: withAnnotations(given, local) },
    op: given.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE',
  };
}

function differSemantically(old: Pod, given: Pod): boolean {
  return !(
    sameContent(old.metadata.labels ?? {}, given.metadata.labels ?? {}) &&
    old.metadata.deletionTimestamp === given.metadata.deletionTimestamp &&
    old.metadata.deletionGracePeriodSeconds === given.metadata.deletionGracePeriodSeconds &&
    sameContent(foreignAnnotations(old), foreignAnnotations(given)) &&
    sameContent(old.spec, given.spec)
  );
}

function foreignAnnotations(pod: Pod): Record<string, string> {
  return Object.fromEntries(
    Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => !localAnnotations.includes(key)),
  );
}
