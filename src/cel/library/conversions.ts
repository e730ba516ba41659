import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import { doubleToInt, doubleToUint, formatDouble, parseDouble, parseInteger, parseUnsigned } from '../numbers.ts';
import { couldHoldLoop } from '../../base/pattern-budget.ts';
import { cachedPattern, textTooLong } from '../pattern-cache.ts';
import { timeFunctions } from '../time/fields.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from '../time/formats.ts';
import { checkedTimestamp } from '../time/limits.ts';
import type { CelType } from '../types.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  param,
  stringType,
  timestampType,
  typeOf,
  uintType,
} from '../types.ts';
import { countCodePoints } from '../unicode.ts';
import type { CelList, CelMap, CelResult, CelValue, Timestamp, Uint } from '../values.ts';
import { CelError, Duration, TypeValue, valueTypeName } from '../values.ts';
import { intOf, uintOf } from './operators.ts';

const T = param('T');
const K = param('K');
const V = param('V');
const SECOND_NS = 1_000_000_000n;

const same = <Value extends CelValue>(value: Value): Value => value;

const truths = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

function parseBool(text: string): CelResult {
  return (
    truths.get(text) ?? new CelError(`strconv.ParseBool: parsing ${JSON.stringify(text.slice(0, 64))}: invalid syntax`)
  );
}

function decodeBytes(bytes: Uint8Array): CelResult {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** Seconds since 1970, rounded down. */
const unixSeconds = ({ nanos }: Timestamp): bigint =>
  (nanos - (((nanos % SECOND_NS) + SECOND_NS) % SECOND_NS)) / SECOND_NS;

function matches(text: string, pattern: string): CelResult {
  const regex = cachedPattern(pattern);
  if (typeof regex === 'string') return new CelError(regex);
  return couldHoldLoop(regex, text, 'test') ? textTooLong : regex.test(text);
}

const sizes = (id: string, type: CelType, size: (value: never) => bigint) => [
  fn(`size_${id}`, [type], intType, size),
  member(`${id}_size`, [type], intType, size),
];

export const conversions: Library = {
  functions: {
    size: [
      ...sizes('string', stringType, (text: string) => BigInt(countCodePoints(text))),
      ...sizes('bytes', bytesType, (bytes: Uint8Array) => BigInt(bytes.length)),
      ...sizes('list', listOf(T), (list: CelList) => BigInt(list.length)),
      ...sizes('map', mapOf(K, V), (map: CelMap) => BigInt(map.size)),
    ],
    type: [fn('type', [T], typeOf(T), (value: CelValue) => new TypeValue(valueTypeName(value)))],
    dyn: [fn('to_dyn', [T], dynType, same)],
    bool: [fn('bool_to_bool', [boolType], boolType, same), fn('string_to_bool', [stringType], boolType, parseBool)],
    bytes: [
      fn('bytes_to_bytes', [bytesType], bytesType, same),
      fn('string_to_bytes', [stringType], bytesType, (text: string) => new TextEncoder().encode(text)),
    ],
    double: [
      fn('double_to_double', [doubleType], doubleType, same),
      fn('int64_to_double', [intType], doubleType, Number),
      fn('uint64_to_double', [uintType], doubleType, ({ value }: Uint) => Number(value)),
      fn('string_to_double', [stringType], doubleType, parseDouble),
    ],
    int: [
      fn('int64_to_int64', [intType], intType, same),
      fn('uint64_to_int64', [uintType], intType, ({ value }: Uint) => intOf(value)),
      fn('double_to_int64', [doubleType], intType, doubleToInt),
      fn('string_to_int64', [stringType], intType, parseInteger),
      fn('timestamp_to_int64', [timestampType], intType, unixSeconds),
      fn('duration_to_int64', [durationType], intType, ({ nanos }: Duration) => nanos),
    ],
    uint: [
      fn('uint64_to_uint64', [uintType], uintType, same),
      fn('int64_to_uint64', [intType], uintType, uintOf),
      fn('double_to_uint64', [doubleType], uintType, doubleToUint),
      fn('string_to_uint64', [stringType], uintType, parseUnsigned),
    ],
    string: [
      fn('string_to_string', [stringType], stringType, same),
      fn('bool_to_string', [boolType], stringType, String),
      fn('int64_to_string', [intType], stringType, String),
      fn('uint64_to_string', [uintType], stringType, ({ value }: Uint) => String(value)),
      fn('double_to_string', [doubleType], stringType, formatDouble),
      fn('bytes_to_string', [bytesType], stringType, decodeBytes),
      fn('timestamp_to_string', [timestampType], stringType, formatTimestamp),
      fn('duration_to_string', [durationType], stringType, formatDuration),
    ],
    timestamp: [
      fn('timestamp_to_timestamp', [timestampType], timestampType, same),
      fn('string_to_timestamp', [stringType], timestampType, parseTimestamp),
      fn('int64_to_timestamp', [intType], timestampType, (seconds: bigint) => checkedTimestamp(seconds * SECOND_NS)),
    ],
    duration: [
      fn('duration_to_duration', [durationType], durationType, same),
      fn('string_to_duration', [stringType], durationType, parseDuration),
      fn('int64_to_duration', [intType], durationType, (nanos: bigint) => new Duration(nanos)),
    ],
    contains: [
      member('contains_string', [stringType, stringType], boolType, (text: string, part: string) =>
        text.includes(part),
      ),
    ],
    startsWith: [
      member('starts_with_string', [stringType, stringType], boolType, (text: string, start: string) =>
        text.startsWith(start),
      ),
    ],
    endsWith: [
      member('ends_with_string', [stringType, stringType], boolType, (text: string, end: string) => text.endsWith(end)),
    ],
    matches: [
      fn('matches', [stringType, stringType], boolType, matches),
      member('matches_string', [stringType, stringType], boolType, matches),
    ],
    ...timeFunctions(),
  },
  typeNames: {
    bool: boolType,
    bytes: bytesType,
    double: doubleType,
    int: intType,
    uint: uintType,
    string: stringType,
    null_type: nullType,
    list: listOf(dynType),
    map: mapOf(dynType, dynType),
    type: typeOf(undefined),
    'google.protobuf.Timestamp': timestampType,
    'google.protobuf.Duration': durationType,
  },
};
