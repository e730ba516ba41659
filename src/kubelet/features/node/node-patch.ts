import { isRecord } from '../../../base/json-record.ts';
import { sameContent } from '../../../base/same-content.ts';
import type { Node } from '../../../api/core/node.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Whether more than heartbeats changed (upstream: nodeStatusHasChanged). Metadata counts too, because the kubelet
 * manages labels and annotations.
 */
export function nodeHasChanged(before: Node, after: Node): boolean {
  const bare = ({ metadata, status }: Node): unknown => ({
    labels: metadata.labels,
    annotations: metadata.annotations,
    ...status,
    conditions: Object.fromEntries(
      (status?.conditions ?? []).map(({ lastHeartbeatTime: _, ...condition }) => [condition.type, condition]),
    ),
  });
  return !sameContent(normal(bare(before)), normal(bare(after)));
}

/** Removes empty lists and maps, because the API leaves them out. */
function normal(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(
      ([, each]) => !(Array.isArray(each) && each.length === 0) && !(isRecord(each) && Object.keys(each).length === 0),
    ),
  );
}

/**
 * Computes the strategic merge patch of `nodes/NAME/status` from one node to the other (upstream: component-helpers
 * PatchNodeStatus). It leaves out the spec and unchanged fields, so that concurrent changes by other clients stay. The
 * UID prevents it from applying to a new node of the same name.
 */
export function computeNodePatch(before: Node, after: Node): { metadata: Json; status?: Json } {
  const metadata: Record<string, unknown> = before.metadata.uid === '' ? {} : { uid: before.metadata.uid };
  for (const field of ['labels', 'annotations'] as const) {
    const changed = diff(before.metadata[field] ?? {}, after.metadata[field] ?? {});
    if (Object.keys(changed).length > 0) metadata[field] = changed;
  }
  const { conditions: oldConditions = [], addresses: oldAddresses = [], ...oldRest } = before.status ?? {};
  const { conditions = [], addresses = [], ...rest } = after.status ?? {};
  const status: Record<string, unknown> = diff(oldRest, rest);
  const changedConditions = conditions.flatMap((condition) => {
    const changed = diff(oldConditions.find(({ type }) => type === condition.type) ?? {}, condition);
    return Object.keys(changed).length === 0 ? [] : [{ ...changed, type: condition.type }];
  });
  if (changedConditions.length > 0) status['conditions'] = changedConditions;
  // The API merges addresses by type. If there are two of one type, the list must be replaced as a whole.
  if (!sameContent(oldAddresses, addresses)) status['addresses'] = [...addresses, { $patch: 'replace' }];
  return { metadata, ...(Object.keys(status).length > 0 && { status }) };
}

/** Computes the merge patch from `before` to `after`: null for removed fields, and lists as a whole. */
function diff(before: Json, after: Json): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, value] = [before[key], after[key]];
    if (sameContent(old, value)) continue;
    if (value === undefined || (Array.isArray(value) && value.length === 0)) {
      if (old !== undefined) changed[key] = null;
    } else if (isRecord(old) && isRecord(value)) {
      const inner = diff(old, value);
      if (Object.keys(inner).length > 0) changed[key] = inner;
    } else changed[key] = value;
  }
  return changed;
}
