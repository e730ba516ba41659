// The effect of a write on an object, as an API server computes it. Pure.
import { matchesRequirement } from '../../label-requirement.ts';
import { isTerminalPod } from '../../pod.ts';
import type { Pod } from '../../core/pod.ts';
import type { Scale } from '../../autoscaling/scale.ts';
import type { LabelSelector } from '../../core/meta.ts';
import {
  formatLabelSelector,
  matchesFields,
  parseFieldSelector,
  parseLabelSelector,
  podFields,
  requirementsOf,
} from '../../selectors.ts';
import { badRequest } from '../../status/api-status-error.ts';
import { formatTime } from '../../time.ts';
import type { DeleteOptions } from '../api-client.ts';
import type { ApiObject, ResourceType } from '../resource-type.ts';

export type Loose = ApiObject & { spec?: unknown; status?: unknown };

interface Scaled {
  readonly replicas?: number;
  readonly selector?: LabelSelector;
}

/** The scale subresource of a workload. */
export function scaleOf<T extends ApiObject>({ metadata, spec, status }: T & Loose): T {
  // Every kind with a scale has these fields.
  const [wanted, actual] = [spec as Scaled | undefined, status as Scaled | undefined];
  const scale: Scale = {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { ...metadata },
    spec: { replicas: wanted?.replicas ?? 0 },
    status: {
      replicas: actual?.replicas ?? 0,
      selector: formatLabelSelector(requirementsOf(wanted?.selector ?? {})),
    },
  };
  return scale as ApiObject as T;
}

/**
 * The stored object after a write of `given` over `before`: the status changes only through its subresource, everything
 * else only without it.
 */
export function replaced<T extends ApiObject>(before: T, given: T, subresource: string): T {
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation } = before.metadata;
  const { labels, annotations } = given.metadata;
  const [old, wanted]: [Loose, Loose] = [before, given];
  if (subresource === 'scale') {
    const { replicas } = wanted.spec as Scaled;
    return { ...before, spec: { ...(old.spec as Scaled), replicas } };
  }
  if (subresource === 'status' || subresource === 'approval')
    return { ...before, status: wanted.status, metadata: { ...before.metadata, labels, annotations } };
  return {
    ...given,
    ...('status' in old ? { status: old.status } : {}),
    metadata: {
      ...given.metadata,
      uid,
      creationTimestamp,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      generation: subresource === '' ? nextGeneration(before, given) : generation,
    },
  };
}

/** Whether they are equal except for their versions. */
export function isSame(left: ApiObject, right: ApiObject): boolean {
  const text = (object: ApiObject): string =>
    JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  return text(left) === text(right);
}

/**
 * The object after a deletion request; undefined when it is removed immediately. A grace period can only become
 * shorter.
 */
export function beingDeleted(
  type: ResourceType,
  before: ApiObject,
  { gracePeriodSeconds, propagationPolicy, nowMs }: DeleteOptions & { readonly nowMs: number },
): ApiObject | undefined {
  const { metadata } = before;
  const isFirst = metadata.deletionTimestamp === undefined;
  const finalizers = [...(metadata.finalizers ?? [])];
  const added =
    propagationPolicy === 'Foreground' ? 'foregroundDeletion' : propagationPolicy === 'Orphan' ? 'orphan' : undefined;
  if (added !== undefined && !finalizers.includes(added)) finalizers.push(added);
  const asked = type.plural === 'pods' ? podGraceSeconds(before as unknown as Pod, gracePeriodSeconds) : 0;
  const graceSeconds = Math.min(asked, isFirst ? Infinity : (metadata.deletionGracePeriodSeconds ?? 0));
  if (graceSeconds === 0 && finalizers.length === 0) return undefined;
  return {
    ...before,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      deletionTimestamp: metadata.deletionTimestamp ?? formatTime(nowMs + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      generation: isFirst ? (metadata.generation ?? 0) + 1 : metadata.generation,
    },
  };
}

/** A pod that has no node or has ended is removed immediately. */
function podGraceSeconds(pod: Pod, asked: number | undefined): number {
  if ((pod.spec.nodeName ?? '') === '' || isTerminalPod(pod)) return 0;
  return asked ?? Number(pod.spec.terminationGracePeriodSeconds ?? 30);
}

/** A change of the spec increases the generation. */
export function nextGeneration(before: ApiObject, after: ApiObject): number {
  const generation = before.metadata.generation ?? 0;
  return JSON.stringify((before as Loose).spec) === JSON.stringify((after as Loose).spec) ? generation : generation + 1;
}

/** Throws BadRequest for an invalid selector. */
export function selectorOf(
  namespace: string,
  { labelSelector = '', fieldSelector = '' }: { readonly labelSelector?: string; readonly fieldSelector?: string },
): (object: ApiObject) => boolean {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  if (typeof labels === 'string') throw badRequest(labels);
  if (typeof fields === 'string') throw badRequest(fields);
  const fieldsOf = (object: ApiObject): Readonly<Record<string, string>> =>
    object.kind === 'Pod'
      ? podFields(object as unknown as Pod)
      : Object.fromEntries(fields.map(({ field }) => [field, fieldAt(object, field)]));
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) &&
    labels.every((requirement) => matchesRequirement(requirement, object.metadata.labels ?? {})) &&
    (fields.length === 0 || matchesFields(fields, fieldsOf(object)));
}

function fieldAt(object: ApiObject, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
      object,
    );
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Code that changes a frozen object in place gets an error. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
