import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../../api/schema/decode.ts';
import { badRequest } from '../../api/status/api-status-error.ts';
import { jsonTypeName } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { checkDepth } from './patch-limits.ts';

/**
 * Applies a JSON merge patch (RFC 7386) without changing its arguments; unchanged parts are shared. Throws BadRequest
 * unless the patch is an object.
 */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonObject {
  if (patch === null) throw badRequest('Invalid JSON Patch');
  if (!isRecord(patch))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`,
    );
  checkDepth(patch);
  return mergeObject(document, patch);
}

function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(patch)) {
    const wanted = patch[key];
    const before = Object.hasOwn(target, key) ? target[key] : undefined;
    const after =
      wanted === null ? undefined : isRecord(wanted) ? mergeObject(isRecord(before) ? before : {}, wanted) : wanted;
    if (after === before && (after !== undefined || !Object.hasOwn(target, key))) continue;
    out ??= { ...target };
    if (after === undefined) delete out[key];
    else setOwn(out, key, after);
  }
  return out ?? target;
}
