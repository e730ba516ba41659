import type { Expr } from '../ast.ts';
import { qualifiedName } from '../ast.ts';
import type { Library, Overload } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import { compare, equals } from '../equality.ts';
import type { Work } from '../work.ts';
import type { MacroTable } from '../macros.ts';
import { MacroFault, macroKey } from '../macros.ts';
import { checkedDuration } from '../time/limits.ts';
import type { CelType } from '../types.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  param,
  stringType,
  timestampType,
  typeName,
  uintType,
} from '../types.ts';
import type { CelResult, CelValue } from '../values.ts';
import { ArrayList, CelError, CelList, Duration, lookupKey, Uint, valueTypeName } from '../values.ts';
import { intOf, uintOf } from './operators.ts';

const T = param('T');

function* items(list: CelList, work: Work): Iterable<CelValue> {
  for (let index = 0; index < list.length; index += 1) {
    work.step();
    yield list.at(index);
  }
}

function isSorted(list: CelList, work: Work): CelResult {
  let before: CelValue | undefined;
  for (const item of items(list, work)) {
    const order = before === undefined ? 0 : compare(before, item);
    if (order === undefined) return new CelError('no such overload');
    if (order !== 0 && order !== -1) return false;
    before = item;
  }
  return true;
}

const extreme =
  (name: string, wanted: -1 | 1) =>
  (list: CelList, work: Work): CelResult => {
    let found: CelValue | undefined;
    for (const item of items(list, work)) {
      const order = found === undefined ? wanted : compare(item, found);
      if (order === undefined) return new CelError('no such overload');
      if (order === wanted) found = item;
    }
    return found ?? new CelError(`${name} called on empty list`);
  };

function sum(list: CelList, work: Work, zero: CelValue): CelResult {
  let total: CelResult = zero;
  for (const item of items(list, work)) {
    total = addTwo(total, item);
    if (total instanceof CelError) return total;
  }
  return total;
}

function addTwo(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') return intOf(left + right);
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof Uint && right instanceof Uint) return uintOf(left.value + right.value);
  if (left instanceof Duration && right instanceof Duration) return checkedDuration(left.nanos + right.nanos);
  return new CelError('no such overload');
}

const comparable: readonly (readonly [string, CelType])[] = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
];
const summable: readonly (readonly [string, CelType, CelValue])[] = [
  ['int', intType, 0n],
  ['uint', uintType, new Uint(0n)],
  ['double', doubleType, 0],
  ['duration', durationType, new Duration(0n)],
];

const eachComparable = (
  id: (name: string) => string,
  result: CelType | undefined,
  call: (list: CelList, work: Work) => CelResult,
): Overload[] => comparable.map(([name, type]) => member(id(name), [listOf(type)], result ?? type, call));

function find(list: CelList, wanted: CelValue, work: Work, fromEnd: boolean): bigint {
  for (let count = 0; count < list.length; count += 1) {
    const index = fromEnd ? list.length - 1 - count : count;
    if (equals(list.at(index), wanted, work)) return BigInt(index);
  }
  return -1n;
}

/** Kubernetes' own functions of lists. */
export const kubernetesLists: Library = {
  functions: {
    isSorted: eachComparable((name) => `list_${name}_is_sorted_bool`, boolType, isSorted),
    sum: summable.map(([name, type, zero]) =>
      member(`list_${name}_sum_${name}`, [listOf(type)], type, (list: CelList, work: Work) => sum(list, work, zero)),
    ),
    min: eachComparable((name) => `list_${name}_min_${name}`, undefined, extreme('min', -1)),
    max: eachComparable((name) => `list_${name}_max_${name}`, undefined, extreme('max', 1)),
    indexOf: [
      member('list_a_index_of_int', [listOf(T), T], intType, (list: CelList, wanted: CelValue, work: Work) =>
        find(list, wanted, work, false),
      ),
    ],
    lastIndexOf: [
      member('list_a_last_index_of_int', [listOf(T), T], intType, (list: CelList, wanted: CelValue, work: Work) =>
        find(list, wanted, work, true),
      ),
    ],
  },
};

function slice(list: CelList, start: bigint, end: bigint, work: Work): CelResult {
  if (start < 0n || end < 0n) return new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`);
  if (start > end)
    return new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`);
  if (end > BigInt(list.length)) return new CelError(`cannot slice(${start}, ${end}), list is length ${list.length}`);
  const made: CelValue[] = [];
  for (let index = Number(start); index < Number(end); index += 1) {
    work.step();
    made.push(list.at(index));
  }
  return new ArrayList(made);
}

function flatten(list: CelList, depth: bigint | Work, rest?: Work): CelResult {
  const levels = typeof depth === 'bigint' ? depth : 1n;
  const work = (typeof depth === 'bigint' ? rest : depth) as Work;
  if (levels < 0n) return new CelError('level must be non-negative');
  const made: CelValue[] = [];
  const add = (from: CelList, left: bigint): void => {
    for (const item of items(from, work)) {
      if (item instanceof CelList && left > 0n) add(item, left - 1n);
      else made.push(item);
    }
  };
  add(list, levels);
  return new ArrayList(made);
}

/** The longest list that `lists.range` creates. */
const RANGE_LIMIT = 100_000n;

function range(length: bigint, work: Work): CelResult {
  if (length > RANGE_LIMIT) return new CelError(`lists.range: at most ${RANGE_LIMIT} elements`);
  work.step(Math.max(0, Number(length)));
  return new ArrayList(Array.from({ length: Math.max(0, Number(length)) }, (_none, index) => BigInt(index)));
}

function distinct(list: CelList, work: Work): CelResult {
  const made: CelValue[] = [];
  const others: CelValue[] = [];
  const known = new Set<unknown>();
  for (const item of items(list, work)) {
    const key = lookupKey(item);
    const isNew = key === undefined ? !others.some((other) => equals(other, item, work)) : !known.has(key);
    if (!isNew) continue;
    if (key === undefined) others.push(item);
    else known.add(key);
    made.push(item);
  }
  return new ArrayList(made);
}

function sortBy(list: CelList, keys: CelList, work: Work): CelResult {
  if (list.length !== keys.length)
    return new CelError('@sortByAssociatedKeys() expected a list of the same size as the associated keys list');
  const pairs = Array.from({ length: list.length }, (_none, index) => ({ item: list.at(index), key: keys.at(index) }));
  const type = pairs[0] === undefined ? '' : valueTypeName(pairs[0].key);
  if (pairs.some(({ key }) => valueTypeName(key) !== type))
    return new CelError('list elements must have the same type');
  const first = pairs[0]?.key;
  if (first !== undefined && compare(first, first) === undefined)
    return new CelError('list elements must be comparable');
  pairs.sort((left, right) => {
    work.step();
    const order = compare(left.key, right.key);
    return typeof order === 'number' ? order : 0;
  });
  return new ArrayList(pairs.map(({ item }) => item));
}

function reverse(list: CelList, work: Work): CelResult {
  work.step(list.length);
  return new ArrayList(Array.from({ length: list.length }, (_none, index) => list.at(list.length - 1 - index)));
}

/** `list.sortBy(x, key)` sorts by the keys of the elements. */
const sortMacros: MacroTable = new Map([
  [
    macroKey('sortBy', 2, true),
    ({ nodes, offset, target, args }) => {
      const [name, key] = args as [Expr, Expr];
      if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct')
        throw new MacroFault(
          'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
          target,
        );
      const variable = qualifiedName(name);
      if (name.kind !== 'ident' || variable === undefined) throw new MacroFault('argument must be a simple name', name);
      const keys = nodes.comprehension(offset, {
        iterVar: variable,
        iterVar2: undefined,
        range: target,
        accuVar: '@result',
        accuInit: nodes.list(offset, []),
        condition: nodes.literal(offset, true),
        step: nodes.call(offset, '_+_', nodes.accumulator(offset), nodes.list(offset, [key])),
        result: nodes.accumulator(offset),
      });
      return nodes.method(offset, target, '@sortByAssociatedKeys', [keys]);
    },
  ],
]);

/** cel-go's functions of lists. */
export const lists: Library = {
  macros: sortMacros,
  functions: {
    slice: [member('list_slice', [listOf(T), intType, intType], listOf(T), slice)],
    flatten: [
      member('list_flatten', [listOf(listOf(T))], listOf(T), flatten),
      member('list_flatten_int', [listOf(dynType), intType], listOf(dynType), flatten),
    ],
    sort: comparable.map(([, type]) =>
      member(`list_${typeName(type)}_sort`, [listOf(type)], listOf(type), (list: CelList, work: Work) =>
        sortBy(list, list, work),
      ),
    ),
    '@sortByAssociatedKeys': comparable.map(([, type]) =>
      member(`list_${typeName(type)}_sortByAssociatedKeys`, [listOf(T), listOf(type)], listOf(T), sortBy),
    ),
    'lists.range': [fn('lists_range', [intType], listOf(intType), range)],
    reverse: [member('list_reverse', [listOf(T)], listOf(T), reverse)],
    distinct: [member('list_distinct', [listOf(T)], listOf(T), distinct)],
  },
};
