import { isRecord } from '../../../base/json-record.ts';
import { setOwn } from '../../../api/schema/decode.ts';
import { equalJson } from '../json-value.ts';
import type { JsonObject } from '../json-value.ts';

/** Returns the merge patch from one document to the other. The documents must not contain null as a value. */
export function diffMergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(after)) {
    const [then, now] = [Object.hasOwn(before, key) ? before[key] : undefined, after[key]];
    if (isRecord(then) && isRecord(now)) {
      const below = diffMergePatch(then, now);
      if (Object.keys(below).length > 0) setOwn(patch, key, below);
    } else if (!equalJson(then, now)) setOwn(patch, key, now);
  }
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) setOwn(patch, key, null);
  return patch;
}
