import type { Adapt, JsonField } from '../../cel/json-values.ts';
import { fromJson, JsonList, JsonMap, JsonObject } from '../../cel/json-values.ts';
import { parseTimestamp } from '../../cel/time/formats.ts';
import type { CelType } from '../../cel/types.ts';
import { isError } from '../../cel/values.ts';

const isRecord = (raw: unknown): raw is Record<string, unknown> =>
  typeof raw === 'object' && raw !== null && !Array.isArray(raw);

/** Makes values of a declared type of JSON. */
export function adaptTo(type: CelType): Adapt {
  switch (type.kind) {
    case 'timestamp':
      return (raw) => {
        const time = typeof raw === 'string' ? parseTimestamp(raw) : undefined;
        return time === undefined || isError(time) ? fromJson(raw) : time;
      };
    case 'double':
      return (raw) => (typeof raw === 'number' || typeof raw === 'bigint' ? Number(raw) : fromJson(raw));
    case 'list': {
      const adapt = adaptTo(type.element);
      return (raw) => (Array.isArray(raw) ? new JsonList(raw, adapt) : fromJson(raw));
    }
    case 'map': {
      const adapt = adaptTo(type.value);
      return (raw) => (isRecord(raw) ? new JsonMap(raw, adapt) : fromJson(raw));
    }
    case 'object': {
      const field = (name: string): JsonField | undefined => {
        const declared = type.field(name);
        return declared && { name, adapt: adaptTo(declared) };
      };
      return (raw) => (isRecord(raw) ? new JsonObject(raw, field, type.name) : fromJson(raw));
    }
    default:
      return fromJson;
  }
}
