import { isRecord } from '../../../base/json-record.ts';
import type { ObjectSchema, Schema } from '../../../api/schema/schema.ts';
import { equalJson, isJsonArray } from '../json-value.ts';
import type { JsonObject } from '../json-value.ts';

/**
 * Returns the strategic merge patch between two objects as kubectl makes it: merged lists contain their order, and
 * removals are directives.
 */
export function diffStrategic(schema: Schema, before: JsonObject, after: JsonObject): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(after)) {
    const [then, now] = [before[key], after[key]];
    const field = schema.kind === 'object' ? (schema as ObjectSchema).fields[key]?.schema : undefined;
    if (then === undefined || equalJson(then, now)) {
      if (then === undefined) patch[key] = now;
    } else if (isRecord(then) && isRecord(now)) patch[key] = diffStrategic(field ?? { kind: 'opaque' }, then, now);
    else if (isJsonArray(then) && isJsonArray(now) && field?.kind === 'array')
      Object.assign(patch, diffList(field, key, { then, now }));
    else patch[key] = now;
  }
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null;
  return patch;
}

function diffList(
  field: Extract<Schema, { kind: 'array' }>,
  key: string,
  { then, now }: { readonly then: readonly unknown[]; readonly now: readonly unknown[] },
): Record<string, unknown> {
  const mergeKey = field.mergeKeys?.[0];
  if (field.patch === 'merge') {
    const deleted = then.filter((item) => !now.includes(item));
    return {
      [`$setElementOrder/${key}`]: now,
      ...(deleted.length > 0 && { [`$deleteFromPrimitiveList/${key}`]: deleted }),
      [key]: now.filter((item) => !then.includes(item)),
    };
  }
  if (mergeKey === undefined) return { [key]: now };
  const [olds, news] = [then as readonly JsonObject[], now as readonly JsonObject[]];
  const same = (item: JsonObject) => (other: JsonObject) => other[mergeKey] === item[mergeKey];
  const changes = news.map((item) => {
    const old = olds.find(same(item));
    return old === undefined ? item : { ...diffStrategic(field.items, old, item), [mergeKey]: item[mergeKey] };
  });
  const deletions = olds
    .filter((item) => !news.some(same(item)))
    .map((item) => ({ $patch: 'delete', [mergeKey]: item[mergeKey] }));
  return {
    [`$setElementOrder/${key}`]: news.map((item) => ({ [mergeKey]: item[mergeKey] })),
    [key]: [...changes, ...deletions],
  };
}
