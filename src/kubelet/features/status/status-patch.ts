import { isRecord } from '../../../base/json-record.ts';
import { lookupTable } from '../../../base/lookup.ts';
import type { ContainerStatus, PodCondition, PodStatus } from '../../../api/core/pod-status.ts';
import { isTerminalPhase } from '../../../api/pod.ts';
import { ownConditions } from './conditions.ts';

/** The condition that both the eviction API and the agent set. */
const SHARED = 'DisruptionTarget';
/** The fields of a status that the agent neither sets nor changes. */
const foreignFields: ReadonlySet<string> = new Set([
  'nominatedNodeName',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
]);
/** The lists whose elements have a key, with that key. All other lists are replaced as a whole. */
const listKeys: Readonly<Record<string, string>> = lookupTable({ conditions: 'type', podIPs: 'ip', hostIPs: 'ip' });

/**
 * Returns the status to send to the API server: the agent's own status, with other clients' parts from the current
 * status in the API (`published`). A terminal phase and an observed generation are never reverted (upstream:
 * status_manager.go mergePodStatus).
 */
export function mergeStatus(published: PodStatus, own: PodStatus): PodStatus {
  const merged: Record<string, unknown> = { ...own };
  for (const field of foreignFields) {
    const value = published[field as keyof PodStatus];
    if (value === undefined) delete merged[field];
    else merged[field] = value;
  }
  const status = merged as PodStatus;
  status.conditions = mergeConditions(published, own);
  if (isTerminalPhase(published.phase) && !isTerminalPhase(own.phase))
    Object.assign(status, { phase: published.phase, reason: published.reason, message: published.message });
  // The start time is set once, by any run of the agent, and does not change.
  if (published.startTime !== undefined) status.startTime = published.startTime;
  if (published.qosClass !== undefined) status.qosClass = published.qosClass;
  if (published.observedGeneration !== undefined && (own.observedGeneration ?? 0) < published.observedGeneration)
    status.observedGeneration = published.observedGeneration;
  if (own.containerStatuses !== undefined) status.containerStatuses = byName(own.containerStatuses);
  if (own.ephemeralContainerStatuses !== undefined)
    status.ephemeralContainerStatuses = byName(own.ephemeralContainerStatuses);
  return status;
}

function mergeConditions(published: PodStatus, own: PodStatus): PodCondition[] {
  const foreign = (published.conditions ?? []).filter(({ type }) => !ownConditions.has(type));
  const mine = (own.conditions ?? []).filter(({ type }) => ownConditions.has(type));
  const disruption = (own.conditions ?? []).find(({ type }) => type === SHARED);
  // Clients treat this phase as the end of the pod, so it is published only when the pod has ended.
  if (disruption === undefined || !isTerminalPhase(own.phase) || isTerminalPhase(published.phase))
    return [...foreign, ...mine];
  return [...foreign.filter(({ type }) => type !== SHARED), disruption, ...mine];
}

function byName(statuses: readonly ContainerStatus[]): ContainerStatus[] {
  return statuses.toSorted((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
}

type Json = Record<string, unknown>;

/**
 * Computes the strategic merge patch from `before` to `after`, or undefined if nothing changes. The UID in it is a
 * precondition: a later pod of the same name rejects it (upstream: pkg/util/pod PatchPodStatus).
 */
export function computeStatusPatch(
  uid: string,
  before: PodStatus,
  after: PodStatus,
): { metadata: { uid: string }; status: Json } | undefined {
  const status = diffFields(before, after);
  return Object.keys(status).length === 0 ? undefined : { metadata: { uid }, status };
}

function diffFields(before: Json, after: Json): Json {
  const patch: Json = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const was = before[field];
    const is = after[field];
    if (isSame(was, is)) continue;
    const key = listKeys[field];
    if (key !== undefined) diffList({ field, key, was: asList(was), is: asList(is) }, patch);
    else if (is === undefined) patch[field] = null;
    else patch[field] = isRecord(was) && isRecord(is) ? diffFields(was, is) : is;
  }
  return patch;
}

function diffList(
  { field, key, was, is }: { field: string; key: string; was: readonly Json[]; is: readonly Json[] },
  patch: Json,
): void {
  const elements: Json[] = [];
  for (const element of is) {
    const known = was.find((each) => each[key] === element[key]);
    if (known === undefined) elements.push(field === 'conditions' ? { lastProbeTime: null, ...element } : element);
    else if (!isSame(known, element)) elements.push({ ...diffFields(known, element), [key]: element[key] });
  }
  const gone = was.filter((each) => !is.some((element) => element[key] === each[key]));
  elements.push(...gone.map((each) => ({ $patch: 'delete', [key]: each[key] })));
  // The order of conditions has no meaning, that of addresses does.
  if (elements.length === 0 && field === 'conditions') return;
  if (elements.length > 0) patch[field] = elements;
  patch[`$setElementOrder/${field}`] = is.map((element) => ({ [key]: element[key] }));
}

const asList = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** Whether a value counts as absent. The API omits undefined, null and empty lists. */
const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

function isSame(left: unknown, right: unknown): boolean {
  if (left === right || (isAbsent(left) && isAbsent(right))) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  if (!isRecord(left) || !isRecord(right)) return false;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => isSame(left[key], right[key]));
}
