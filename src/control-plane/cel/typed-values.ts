import { isRecord } from '../../base/json-record.ts';
import type { Adapt, JsonField } from '../../cel/json-values.ts';
import { fromJson, JsonList, JsonMap, JsonObject } from '../../cel/json-values.ts';
import { parseTimestamp } from '../../cel/time/formats.ts';
import type { CelType } from '../../cel/types.ts';
import { isError } from '../../cel/values.ts';

/** Converts texts of a format. An invalid text is left unchanged, and the validation of the schema refuses it. */
export const textAdapt =
  (parse: typeof parseTimestamp): Adapt =>
  (raw) => {
    if (typeof raw !== 'string') return fromJson(raw);
    const value = parse(raw);
    return isError(value) ? raw : value;
  };

/** Converts numbers to doubles, including whole numbers. */
export const doubleAdapt: Adapt = (raw) =>
  typeof raw === 'number' || typeof raw === 'bigint' ? Number(raw) : fromJson(raw);

/** Converts JSON to values of a declared type. */
export function adaptTo(type: CelType): Adapt {
  switch (type.kind) {
    case 'timestamp':
      return textAdapt(parseTimestamp);
    case 'double':
      return doubleAdapt;
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
