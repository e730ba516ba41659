/** Merges one configuration over another. */
import { isRecord } from '../../../base/json-record.ts';
import { setOwn } from '../../../api/schema/decode.ts';

type Json = Readonly<Record<string, unknown>>;

/** Applies a merge patch (RFC 7396): objects merge, null removes, everything else replaces, including lists. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else setOwn(result, key, mergePatch(result[key], value));
  }
  return result;
}

/** Returns a copy with the value at a dotted path replaced. Missing objects on the way are created. */
export function withField(target: Json, path: string, value: unknown): Json {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...target, [first]: value };
  const inner = target[first];
  return { ...target, [first]: withField(isRecord(inner) ? inner : {}, rest.join('.'), value) };
}

/** Returns the value at a dotted path; undefined if it is missing. */
export function fieldAt(target: unknown, path: string): unknown {
  let value = target;
  for (const step of path.split('.')) value = isRecord(value) ? value[step] : undefined;
  return value;
}
