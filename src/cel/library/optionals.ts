import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import { optionalMacros } from '../macros.ts';
import { boolType, dynType, intType, listOf, mapOf, optionalOf, param, stringType } from '../types.ts';
import type { CelResult, CelValue } from '../values.ts';
import { ArrayList, CelError, CelList, CelMap, Duration, none, Optional, Uint } from '../values.ts';
import type { Work } from '../work.ts';

const K = param('K');
const V = param('V');
const planned = (): CelResult => new CelError('no such overload');

/** Zero, empty, false and null. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === '') return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Uint8Array || value instanceof CelList) return value.length === 0;
  return value instanceof CelMap && value.size === 0;
}

function end(list: CelList, index: number): Optional {
  return list.length === 0 ? none : new Optional(list.at(index));
}

function unwrap(list: CelList, work: Work): CelResult {
  const values: CelValue[] = [];
  for (let index = 0; index < list.length; index += 1) {
    work.step();
    const item = list.at(index);
    if (!(item instanceof Optional)) return new CelError('value is not optional');
    if (item.value !== undefined) values.push(item.value);
  }
  return new ArrayList(values);
}

export const optionals: Library = {
  macros: optionalMacros,
  typeNames: { optional_type: optionalOf(dynType) },
  functions: {
    'optional.of': [fn('optional_of', [V], optionalOf(V), (value: CelValue) => new Optional(value))],
    'optional.ofNonZeroValue': [
      fn('optional_ofNonZeroValue', [V], optionalOf(V), (value: CelValue) =>
        isZero(value) ? none : new Optional(value),
      ),
    ],
    'optional.none': [fn('optional_none', [], optionalOf(V), () => none)],
    'optional.unwrap': [fn('optional_unwrap', [listOf(optionalOf(V))], listOf(V), unwrap)],
    unwrapOpt: [member('optional_unwrapOpt', [listOf(optionalOf(V))], listOf(V), unwrap)],
    value: [member('optional_value', [optionalOf(V)], V, ({ value }: Optional) => value ?? noneValue(value))],
    hasValue: [member('optional_hasValue', [optionalOf(V)], boolType, ({ value }: Optional) => value !== undefined)],
    or: [
      member(
        'optional_or_optional',
        [optionalOf(V), optionalOf(V)],
        optionalOf(V),
        (left: Optional, right: Optional) => (left.value === undefined ? right : left),
      ),
    ],
    orValue: [
      member('optional_orValue_value', [optionalOf(V), V], V, ({ value }: Optional, other: CelValue) =>
        value === undefined ? other : value,
      ),
    ],
    first: [member('list_first', [listOf(V)], optionalOf(V), (list: CelList) => end(list, 0))],
    last: [member('list_last', [listOf(V)], optionalOf(V), (list: CelList) => end(list, list.length - 1))],
    '_?._': [fn('select_optional_field', [dynType, stringType], optionalOf(V), planned)],
    '_[?_]': [
      fn('list_optindex_optional_int', [listOf(V), intType], optionalOf(V), planned),
      fn('optional_list_optindex_optional_int', [optionalOf(listOf(V)), intType], optionalOf(V), planned),
      fn('map_optindex_optional_value', [mapOf(K, V), K], optionalOf(V), planned),
      fn('optional_map_optindex_optional_value', [optionalOf(mapOf(K, V)), K], optionalOf(V), planned),
    ],
  },
};

/** An optional may contain null. */
const noneValue = (value: CelValue | undefined): CelResult =>
  value === undefined ? new CelError('optional.none() dereference') : value;
