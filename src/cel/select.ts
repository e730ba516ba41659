import type { CelResult, CelValue } from './values.ts';
import { CelError, CelList, CelMap, lookupKey, none, Optional, Uint, valueTypeName } from './values.ts';

/** `value.field` */
export function selectKey(value: CelValue, field: string): CelResult {
  if (value instanceof CelMap) {
    const found = value.get(field);
    return found === undefined ? new CelError(`no such key: ${field}`) : found;
  }
  if (value instanceof Optional) return selectOptional(value, field);
  return new CelError(`no such overload: ${valueTypeName(value)}.${field}`);
}

/** `value[key]` */
export function selectIndex(value: CelValue, key: CelValue): CelResult {
  if (value instanceof Optional) return selectOptional(value, key);
  const found = find(value, key);
  if (found !== undefined) return found;
  return new CelError(value instanceof CelList ? `index out of bounds: ${shown(key)}` : `no such key: ${shown(key)}`);
}

/** `value[?key]` and `value.?field`: an optional, empty when the key does not exist. */
export function selectOptional(value: CelValue, key: CelValue): CelResult {
  if (value instanceof Optional) return value.value === undefined ? none : selectOptional(value.value, key);
  const found = find(value, key);
  if (found === undefined) return none;
  return found instanceof CelError ? found : new Optional(found);
}

function find(value: CelValue, key: CelValue): CelResult | undefined {
  const lookup = lookupKey(key);
  if (value instanceof CelMap) {
    if (lookup !== undefined) return value.get(lookup);
    return typeof key === 'number' ? undefined : new CelError(`unsupported key type: ${valueTypeName(key)}`);
  }
  if (!(value instanceof CelList))
    return new CelError(`no such overload: ${valueTypeName(value)}[${valueTypeName(key)}]`);
  if (typeof lookup !== 'bigint') return new CelError(`unsupported index type '${valueTypeName(key)}' in list`);
  return lookup >= 0n && lookup < BigInt(value.length) ? value.at(Number(lookup)) : undefined;
}

const shown = (key: CelValue): string => String(key instanceof Uint ? key.value : key);
