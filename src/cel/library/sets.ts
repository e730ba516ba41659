import type { Library } from '../environment.ts';
import { globalFunction as fn } from '../environment.ts';
import type { Work } from '../work.ts';
import { boolType, listOf, param } from '../types.ts';
import type { CelList, CelValue } from '../values.ts';
import { isInList } from './operators.ts';

const T = listOf(param('T'));

function everyIn(list: CelList, other: CelList, work: Work): boolean {
  for (let index = 0; index < other.length; index += 1) if (!isInList(other.at(index), list, work)) return false;
  return true;
}

function intersects(list: CelList, other: CelList, work: Work): boolean {
  for (let index = 0; index < list.length; index += 1) {
    const value: CelValue = list.at(index);
    if (isInList(value, other, work)) return true;
  }
  return false;
}

/** Lists as sets: order and repetition do not count. */
export const sets: Library = {
  functions: {
    'sets.contains': [fn('list_sets_contains_list', [T, T], boolType, everyIn)],
    'sets.equivalent': [
      fn(
        'list_sets_equivalent_list',
        [T, T],
        boolType,
        (left: CelList, right: CelList, work: Work) => everyIn(left, right, work) && everyIn(right, left, work),
      ),
    ],
    'sets.intersects': [fn('list_sets_intersects_list', [T, T], boolType, intersects)],
  },
};
