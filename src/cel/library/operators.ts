import type { Library, Overload } from '../environment.ts';
import { globalFunction as fn } from '../environment.ts';
import { compare, equals } from '../equality.ts';
import type { Work } from '../work.ts';
import { selectIndex } from '../select.ts';
import { checkedDuration, checkedTimestamp } from '../time/limits.ts';
import type { CelType } from '../types.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  param,
  stringType,
  timestampType,
  uintType,
} from '../types.ts';
import type { CelList, CelMap, CelResult, CelValue, Duration, Timestamp } from '../values.ts';
import { CelError, JoinedList, lookupKey, Uint } from '../values.ts';

const T = param('T');
const K = param('K');
const V = param('V');

export function intOf(value: bigint): CelResult {
  return value === BigInt.asIntN(64, value) ? value : new CelError('integer overflow');
}

export function uintOf(value: bigint): CelResult {
  return value === BigInt.asUintN(64, value) ? new Uint(value) : new CelError('unsigned integer overflow');
}

/** The overloads of an operator for int, uint and double. */
function numeric(
  name: string,
  ofBigints: (left: bigint, right: bigint) => bigint | CelError,
  ofDoubles?: (left: number, right: number) => number,
): Overload[] {
  const checked = (make: (value: bigint) => CelResult, value: bigint | CelError): CelResult =>
    value instanceof CelError ? value : make(value);
  const overloads = [
    fn(`${name}_int64`, [intType, intType], intType, (left: bigint, right: bigint) =>
      checked(intOf, ofBigints(left, right)),
    ),
    fn(`${name}_uint64`, [uintType, uintType], uintType, (left: Uint, right: Uint) =>
      checked(uintOf, ofBigints(left.value, right.value)),
    ),
  ];
  if (ofDoubles !== undefined) overloads.push(fn(`${name}_double`, [doubleType, doubleType], doubleType, ofDoubles));
  return overloads;
}

const divided = (left: bigint, right: bigint): bigint | CelError =>
  right === 0n ? new CelError('division by zero') : left / right;
const remainder = (left: bigint, right: bigint): bigint | CelError =>
  right === 0n ? new CelError('modulus by zero') : left % right;

function joinBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
  const joined = new Uint8Array(left.length + right.length);
  joined.set(left);
  joined.set(right, left.length);
  return joined;
}

function joinLists(left: CelList, right: CelList, work: Work): CelResult {
  const own = left.plus(right, work);
  if (own !== undefined) return own;
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const joined = new JoinedList(left, right);
  return Number.isSafeInteger(joined.length) ? joined : new CelError('list is too long');
}

const move = (time: Timestamp, by: Duration): CelResult => checkedTimestamp(time.nanos + by.nanos);

const additions: Overload[] = [
  ...numeric(
    'add',
    (left, right) => left + right,
    (left, right) => left + right,
  ),
  fn('add_string', [stringType, stringType], stringType, (left: string, right: string) => left + right),
  fn('add_bytes', [bytesType, bytesType], bytesType, joinBytes),
  fn('add_list', [listOf(T), listOf(T)], listOf(T), joinLists),
  fn('add_duration_duration', [durationType, durationType], durationType, (left: Duration, right: Duration) =>
    checkedDuration(left.nanos + right.nanos),
  ),
  fn('add_timestamp_duration', [timestampType, durationType], timestampType, move),
  fn('add_duration_timestamp', [durationType, timestampType], timestampType, (by: Duration, time: Timestamp) =>
    move(time, by),
  ),
];

const subtractions: Overload[] = [
  ...numeric(
    'subtract',
    (left, right) => left - right,
    (left, right) => left - right,
  ),
  fn(
    'subtract_timestamp_timestamp',
    [timestampType, timestampType],
    durationType,
    (left: Timestamp, right: Timestamp) => checkedDuration(left.nanos - right.nanos),
  ),
  fn('subtract_timestamp_duration', [timestampType, durationType], timestampType, (time: Timestamp, by: Duration) =>
    checkedTimestamp(time.nanos - by.nanos),
  ),
  fn('subtract_duration_duration', [durationType, durationType], durationType, (left: Duration, right: Duration) =>
    checkedDuration(left.nanos - right.nanos),
  ),
];

const ordered: readonly (readonly [string, CelType])[] = [
  ['bool', boolType],
  ['int64', intType],
  ['uint64', uintType],
  ['double', doubleType],
  ['string', stringType],
  ['bytes', bytesType],
  ['timestamp', timestampType],
  ['duration', durationType],
];
const mixed: readonly (readonly [string, CelType, CelType])[] = [
  ['int64_double', intType, doubleType],
  ['int64_uint64', intType, uintType],
  ['uint64_double', uintType, doubleType],
  ['uint64_int64', uintType, intType],
  ['double_int64', doubleType, intType],
  ['double_uint64', doubleType, uintType],
];

function ordering(name: string, holds: (order: -1 | 0 | 1) => boolean): Overload[] {
  const decide = (left: CelValue, right: CelValue): boolean => {
    const order = compare(left, right);
    return order !== undefined && order !== 'unordered' && holds(order);
  };
  return [
    ...ordered.map(([type, celType]) => fn(`${name}_${type}`, [celType, celType], boolType, decide)),
    ...mixed.map(([type, left, right]) => fn(`${name}_${type}`, [left, right], boolType, decide)),
  ];
}

export function isInList(value: CelValue, list: CelList, work: Work): boolean {
  for (let index = 0; index < list.length; index += 1) if (equals(value, list.at(index), work)) return true;
  return false;
}

function isInMap(value: CelValue, map: CelMap): CelResult {
  const key = lookupKey(value);
  return key !== undefined && map.get(key) !== undefined;
}

/** The planner implements these. They are declared here so that the checker knows their types. */
const planned = (): CelResult => new CelError('no such overload');

export const operators: Library = {
  functions: {
    '_&&_': [fn('logical_and', [boolType, boolType], boolType, planned)],
    '_||_': [fn('logical_or', [boolType, boolType], boolType, planned)],
    '_?_:_': [fn('conditional', [boolType, T, T], T, planned)],
    '@not_strictly_false': [fn('not_strictly_false', [boolType], boolType, planned)],
    '!_': [fn('logical_not', [boolType], boolType, (value: boolean) => !value)],
    '-_': [
      fn('negate_int64', [intType], intType, (value: bigint) => intOf(-value)),
      fn('negate_double', [doubleType], doubleType, (value: number) => -value),
    ],
    '_==_': [fn('equals', [T, T], boolType, equals)],
    '_!=_': [
      fn('not_equals', [T, T], boolType, (left: CelValue, right: CelValue, work: Work) => !equals(left, right, work)),
    ],
    '_<_': ordering('less', (order) => order < 0),
    '_<=_': ordering('less_equals', (order) => order <= 0),
    '_>_': ordering('greater', (order) => order > 0),
    '_>=_': ordering('greater_equals', (order) => order >= 0),
    '_+_': additions,
    '_-_': subtractions,
    '_*_': numeric(
      'multiply',
      (left, right) => left * right,
      (left, right) => left * right,
    ),
    '_/_': numeric('divide', divided, (left, right) => left / right),
    '_%_': numeric('modulo', remainder),
    '@in': [fn('in_list', [T, listOf(T)], boolType, isInList), fn('in_map', [K, mapOf(K, V)], boolType, isInMap)],
    '_[_]': [
      fn('index_list', [listOf(T), intType], T, selectIndex),
      fn('index_map', [mapOf(K, V), K], V, selectIndex),
      fn('optional_list_index_int', [optionalOf(listOf(T)), intType], optionalOf(T), selectIndex),
      fn('optional_map_index_value', [optionalOf(mapOf(K, V)), K], optionalOf(V), selectIndex),
    ],
  },
};
