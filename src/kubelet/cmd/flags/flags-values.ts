/**
 * Parses the text of one flag, and returns the value or an error message (upstream: pflag, component-base/cli/flag,
 * pkg/util/flag).
 */
import { parseDurationMs } from '../../../api/duration.ts';
import { tryParseQuantity } from '../../../api/quantity.ts';
import { parseIp } from '../../../base/ip-address.ts';
import { isLabelValue, isQualifiedName } from '../../model/config/validate-modes.ts';
import type { FlagType } from './flags-types.ts';

/** A parsed value in the form of the configuration, or the error. */
export type FlagValue = { readonly value: unknown } | { readonly wrong: string };

const trues = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falses = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function parseBool(text: string): boolean | undefined {
  if (trues.has(text)) return true;
  return falses.has(text) ? false : undefined;
}

function integer(text: string, min: bigint, max: bigint): FlagValue {
  const match = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/.exec(text);
  if (match === null) return { wrong: 'expected a whole number' };
  const digits = match[2] ?? '';
  const size = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = match[1] === '-' ? -size : size;
  return value < min || value > max
    ? { wrong: `value out of range; accepted is ${min} to ${max}` }
    : { value: Number(value) };
}

/** Parses one line of CSV as Go's encoding/csv does. */
function csv(text: string): string[] | undefined {
  if (text === '') return [];
  const fields: string[] = [];
  for (const match of text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"(?=,|$)|([^,"]*))/g))
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
  const rebuiltLength = text.replace(/"((?:[^"]|"")*)"/g, '').includes('"');
  return rebuiltLength ? undefined : fields;
}

function pairs(text: string, separator: string, says: string): Map<string, string> | { readonly wrong: string } {
  const found = new Map<string, string>();
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf(separator);
    if (at < 0) return { wrong: `malformed pair, expect ${says}` };
    found.set(part.slice(0, at).trim(), part.slice(at + separator.length).trim());
  }
  return found;
}

function textMap(text: string, separator: string, says: string): FlagValue {
  const found = pairs(text, separator, says);
  return found instanceof Map ? { value: Object.fromEntries(found) } : found;
}

function boolMap(text: string): FlagValue {
  const found = pairs(text, '=', 'string=bool');
  if (!(found instanceof Map)) return found;
  const value: Record<string, boolean> = {};
  for (const [key, word] of found) {
    const parsed = parseBool(word);
    if (parsed === undefined) return { wrong: `invalid value of ${key}: ${word}; accepted are true and false` };
    value[key] = parsed;
  }
  return { value };
}

function headers(text: string): FlagValue {
  const value: Record<string, string[]> = {};
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf(':');
    if (at < 0) return { wrong: 'malformed pair, expect string:string' };
    (value[part.slice(0, at).trim()] ??= []).push(part.slice(at + 1).trim());
  }
  return { value };
}

function labels(text: string): FlagValue {
  const value: Record<string, string> = {};
  for (const part of text.split(',')) {
    if (part === '') continue;
    const [key = '', ...rest] = part.split('=');
    value[key.trim()] = rest.join('=').trim();
  }
  return { value };
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taints(text: string): FlagValue {
  const value: object[] = [];
  for (const spec of text.split(',')) {
    if (spec === '') continue;
    const [pair = '', effect, ...more] = spec.split(':');
    const [key = '', taintValue = '', ...rest] = pair.split('=');
    if (more.length > 0 || rest.length > 0 || !isQualifiedName(key) || !isLabelValue(taintValue))
      return { wrong: `invalid taint spec: ${spec}; accepted is key=value:effect` };
    if (effect === undefined || !effects.includes(effect))
      return {
        wrong: `invalid taint effect: ${effect ?? ''}, unsupported taint effect; accepted are ${effects.join(', ')}`,
      };
    value.push({ key, ...(taintValue === '' ? {} : { value: taintValue }), effect });
  }
  return { value };
}

function reservedMemory(text: string): FlagValue {
  const value: object[] = [];
  for (const reservation of text.split(';')) {
    if (reservation === '') continue;
    const [node = '', list, ...more] = reservation.split(':');
    if (list === undefined || more.length > 0)
      return {
        wrong: `the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${reservation}`,
      };
    if (!/^\d+$/.test(node)) return { wrong: `failed to convert the NUMA node ID, expected integer, got ${node}` };
    const limits: Record<string, string> = {};
    for (const part of list.split(',')) {
      const [type = '', amount, ...rest] = part.split('=');
      if (amount === undefined || rest.length > 0)
        return { wrong: `the reserved limit has incorrect value, expected type=quantity, got ${part}` };
      if (type !== 'memory' && !type.startsWith('hugepages-'))
        return { wrong: `memory type conversion error, unknown type: ${JSON.stringify(type)}` };
      if (typeof tryParseQuantity(amount) === 'string') return { wrong: `failed to parse the quantity: ${amount}` };
      limits[type] = amount;
    }
    value.push({ numaNode: Number(node), limits });
  }
  return { value };
}

function vmodule(text: string): FlagValue {
  const value: object[] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const match = /^([^=]+)=(\d+)$/.exec(part);
    if (match === null) return { wrong: `${JSON.stringify(part)} does not have the pattern=N format` };
    value.push({ filePattern: match[1], verbosity: Number(match[2]) });
  }
  return { value };
}

const INT31 = 2n ** 31n - 1n;
const INT63 = 2n ** 63n - 1n;

const readers: Readonly<Record<FlagType, (text: string) => FlagValue>> = {
  string: (text) => ({ value: text }),
  bool: (text) => {
    const value = parseBool(text);
    return value === undefined ? { wrong: 'accepted are true and false' } : { value };
  },
  int32: (text) => integer(text, -INT31 - 1n, INT31),
  int64: (text) => integer(text, -INT63 - 1n, INT63),
  uint31: (text) => integer(text, 0n, INT31),
  duration: (text) =>
    parseDurationMs(text) === undefined
      ? { wrong: 'expected a duration such as 300ms, 10s or 2h45m' }
      : { value: text },
  quantity: (text) =>
    typeof tryParseQuantity(text) === 'string'
      ? { wrong: 'expected a quantity such as 512, 2Ki or 3M' }
      : { value: text },
  ip: (text) =>
    text === '' || parseIp(text) !== undefined
      ? { value: text }
      : { wrong: `${JSON.stringify(text)} is not a valid IP address` },
  list: (text) => {
    const value = csv(text);
    return value === undefined ? { wrong: 'a quote is not closed' } : { value };
  },
  map: (text) => textMap(text, '=', 'string=string'),
  pair: (text) => {
    const at = text.indexOf('=');
    return at < 0
      ? { wrong: 'malformed pair, expect string=string' }
      : { value: { [text.slice(0, at).trim()]: text.slice(at + 1).trim() } };
  },
  boolMap,
  lessMap: (text) => textMap(text, '<', 'string<string'),
  headers,
  labels,
  taints,
  reservedMemory,
  vmodule,
  version: (text) =>
    text === 'raw' || /^v\d+\.\d+\.\d+/.test(text) || parseBool(text) !== undefined
      ? { value: parseBool(text) ?? text }
      : { wrong: 'accepted are true, false, raw and versions such as v1.36.0' },
};

export function readFlagValue(type: FlagType, text: string): FlagValue {
  return readers[type](text);
}

const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/**
 * Combines the values of a repeated flag: lists and maps grow, and other values are replaced. The first use always
 * replaces the default.
 */
export function combineFlagValues(type: FlagType, earlier: unknown, later: unknown): unknown {
  if (earlier === undefined) return later;
  if (type === 'list' || type === 'reservedMemory') return [...asArray(earlier), ...asArray(later)];
  if (type === 'headers') {
    const merged: Record<string, unknown> = { ...asObject(earlier) };
    for (const [name, values] of Object.entries(asObject(later)))
      merged[name] = [...asArray(merged[name]), ...asArray(values)];
    return merged;
  }
  if (type === 'map' || type === 'pair' || type === 'boolMap' || type === 'lessMap' || type === 'labels')
    return { ...asObject(earlier), ...asObject(later) };
  return later;
}
