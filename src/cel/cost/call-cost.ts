import type { Work } from '../work.ts';
import { countCodePoints } from '../unicode.ts';
import type { CelValue } from '../values.ts';
import { CelList, CelMap, lookupKey, Opaque, Optional } from '../values.ts';

/** The units of cost are cel-go's, so that cost limits have the same meaning as upstream. */
export const SELECT_COST = 1;
export const containerCosts = { list: 10, map: 30, struct: 40 } as const;
export const PER_CHARACTER = 0.1;
export const PER_PATTERN_CHARACTER = 0.25;
/** So high that one expression can make only two checks. */
export const AUTHORIZATION_CHECK_COST = 350_000;

type Costing = (overloadId: string, args: readonly CelValue[], work: Work) => number;

/** The size of a value for its cost: characters, bytes, elements or entries; 1 for all other types. */
function valueSize(value: CelValue | undefined): number {
  if (typeof value === 'string') return countCodePoints(value);
  if (value instanceof Uint8Array || value instanceof CelList) return value.length;
  if (value instanceof CelMap) return value.size;
  if (value instanceof Opaque) return value.size();
  if (value instanceof Optional && value.value !== undefined) return valueSize(value.value);
  return 1;
}

const traversals =
  (times: number): Costing =>
  (_id, [value]) =>
    Math.ceil(valueSize(value) * times * PER_CHARACTER);

/** For a list, all elements are visited. */
const walk: Costing = (_id, [value], work) => traversalCost(value as CelValue, work);

function traversalCost(value: CelValue, work: Work): number {
  work.step();
  if (typeof value === 'string' || value instanceof Uint8Array) return Math.floor(value.length * PER_CHARACTER);
  let cost = 0;
  if (value instanceof CelList) {
    for (let index = 0; index < value.length; index += 1) cost += traversalCost(value.at(index), work);
    return cost;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) {
    const found = value.get(lookupKey(key) ?? '');
    cost += traversalCost(key, work) + (found === undefined ? 0 : traversalCost(found, work));
  }
  return cost;
}

const patternCost = (characters: number, patternCharacters: number): number =>
  Math.ceil((1 + characters) * PER_CHARACTER) * Math.ceil(patternCharacters * PER_PATTERN_CHARACTER);

const pattern: Costing = (_id, [text, expression]) => patternCost(valueSize(text), valueSize(expression));

/** The smaller size counts, because the comparison ends there. */
const comparison: Costing = (_id, [left, right]) => {
  if (left instanceof Opaque) return 1;
  return Math.ceil(Math.min(valueSize(left), valueSize(right)) * PER_CHARACTER);
};

const ordering: Costing = (id, args, work) => (/string|bytes/.test(id) ? comparison(id, args, work) : 1);

const addition: Costing = (id, [left, right]) =>
  id === 'add_string' || id === 'add_bytes' ? Math.ceil((valueSize(left) + valueSize(right)) * PER_CHARACTER) : 1;

const joining: Costing = (_id, [list, separator], work) => {
  if (!(list instanceof CelList)) return 1;
  let size = 0;
  for (let index = 0; index < list.length; index += 1) {
    work.step();
    size += valueSize(list.at(index));
  }
  if (typeof separator === 'string') size += countCodePoints(separator) * Math.max(0, list.length - 1);
  return Math.ceil(size * 2 * PER_CHARACTER);
};

/** For a selector in an authorization check: parsing it, and the size of its requirements. */
function selectorCost(characters: number): number {
  const requirements = Math.ceil(characters * 0.5);
  return containerCosts.list + Math.ceil(characters * PER_CHARACTER) + requirements * 50;
}

const containment =
  (isRange: boolean): Costing =>
  (id, [range, other]) => {
    const size = valueSize(range);
    const text = id.endsWith('_string') ? Math.ceil(valueSize(other) * PER_CHARACTER) : 0;
    return Math.ceil(size * 2 * PER_CHARACTER) + (isRange ? Math.ceil(size * PER_CHARACTER) + 1 : 0) + text;
  };

/** The longest pattern behind a named format (upstream: cel/format.go MaxNameFormatRegexSize). */
const FORMAT_PATTERN_LENGTH = 128;

const rows: readonly (readonly [readonly string[], Costing])[] = [
  [['check'], () => AUTHORIZATION_CHECK_COST],
  [['fieldSelector', 'labelSelector'], (_id, [, selector]) => selectorCost(valueSize(selector))],
  [['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], walk],
  [['url', 'lowerAscii', 'upperAscii', 'substring', 'trim', 'jsonpatch.escapeKey'], traversals(1)],
  [['replace', 'split', 'ip.isCanonical'], traversals(2)],
  [['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'], traversals(1)],
  [['ip'], (id, args, work) => (id === 'cidr_ip' ? 1 : traversals(1)(id, args, work))],
  [['startsWith', 'endsWith', 'strings.quote', 'format'], traversals(1)],
  [['bytes'], (id, args, work) => (id === 'string_to_bytes' ? traversals(1)(id, args, work) : 1)],
  [['string'], (id, args, work) => (id === 'bytes_to_string' ? traversals(1)(id, args, work) : 1)],
  [['join'], joining],
  [['find', 'findAll', 'matches'], pattern],
  [['validate'], (_id, [, text]) => patternCost(valueSize(text), FORMAT_PATTERN_LENGTH)],
  [['containsIP'], containment(false)],
  [['containsCIDR'], containment(true)],
  [['@in'], (id, [, list]) => (id === 'in_list' ? valueSize(list) : 1)],
  [['_==_', '_!=_'], comparison],
  [['_<_', '_<=_', '_>_', '_>=_'], ordering],
  [['_+_'], addition],
  [
    ['contains'],
    (_id, [text, part]) => Math.ceil(valueSize(text) * PER_CHARACTER) * Math.ceil(valueSize(part) * PER_CHARACTER),
  ],
];

const costings = new Map(rows.flatMap(([names, costing]) => names.map((name) => [name, costing] as const)));

/**
 * The cost of a call, computed before it is made (upstream: interpreter/runtimecost.go costCall, cel/library/cost.go
 * CallCost).
 */
export const callCost = (name: string): Costing => costings.get(name) ?? (() => 1);
