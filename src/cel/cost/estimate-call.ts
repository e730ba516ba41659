import type { CelType } from '../types.ts';
import type { CelValue } from '../values.ts';
import { AUTHORIZATION_CHECK_COST, containerCosts, PER_CHARACTER, PER_PATTERN_CHARACTER } from './call-cost.ts';
import type { Range } from './range.ts';
import { add, fixed, multiply, one, scale, unbounded } from './range.ts';

/** An argument; for member functions the target is the first one. */
export interface SizedArgument {
  readonly type: CelType;
  readonly size: Range;
  /** The element, for a list. */
  readonly element: { readonly type: CelType; readonly size: Range } | undefined;
  readonly literal: CelValue | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  /** The result; undefined if its type already gives its size. */
  readonly size?: Range;
}

type Estimating = (args: readonly SizedArgument[], overloadId: string) => CallEstimate;

const sizeAt = (args: readonly SizedArgument[], index: number): Range => args[index]?.size ?? unbounded;

const traversal =
  (times: number, isSized = false): Estimating =>
  (args) => {
    const size = sizeAt(args, 0);
    return { cost: scale(size, times * PER_CHARACTER), size: isSized ? size : undefined };
  };

const listWalk: Estimating = ([list]) => {
  const size = list?.size ?? unbounded;
  if (list?.element === undefined) return { cost: scale(size, PER_CHARACTER) };
  const { type, size: elementSize } = list.element;
  const perElement = type.kind === 'string' || type.kind === 'bytes' ? scale(elementSize, PER_CHARACTER) : fixed(0);
  return { cost: multiply(size, add(one, perElement)) };
};

const pattern: Estimating = (args) => ({
  cost: multiply(scale(add(sizeAt(args, 0), one), PER_CHARACTER), scale(sizeAt(args, 1), PER_PATTERN_CHARACTER)),
});

const finding: Estimating = (args, id) => ({ ...pattern(args, id), size: { min: 0, max: sizeAt(args, 0).max } });

const comparison: Estimating = (args) => {
  const most = Math.min(sizeAt(args, 0).max, sizeAt(args, 1).max);
  return { cost: scale({ min: most > 0 ? 1 : 0, max: most }, PER_CHARACTER) };
};

const equality: Estimating = (args, id) => {
  const { type } = args[0] ?? {};
  return type?.kind === 'opaque' && type.name !== 'optional_type' ? { cost: one } : comparison(args, id);
};

const ordering: Estimating = (args, id) => (/string|bytes/.test(id) ? comparison(args, id) : { cost: one });

const addition: Estimating = (args, id) => {
  if (!/string|bytes|list/.test(id)) return { cost: one };
  const size = add(sizeAt(args, 0), sizeAt(args, 1));
  return { cost: id === 'add_list' ? one : scale(size, PER_CHARACTER), size };
};

const replacing: Estimating = (args) => {
  const [text, old, by] = [sizeAt(args, 0), sizeAt(args, 1), sizeAt(args, 2)];
  let most: number;
  if (old.min === 0) most = multiply(fixed(text.max + 1), fixed(by.max)).max + text.max;
  else if (by.max <= old.min) most = text.max;
  else most = multiply(fixed(Math.ceil(text.max / old.min)), fixed(by.max)).max;
  let least: number;
  if (old.max === 0) least = (text.min + 1) * by.min + text.min;
  else if (old.max <= by.min) least = text.min;
  else least = multiply(fixed(Math.ceil(text.min / old.max)), fixed(by.min)).min;
  return { cost: scale(text, 2 * PER_CHARACTER), size: { min: least, max: most } };
};

const splitting: Estimating = (args) => {
  const text = sizeAt(args, 0);
  const limit = args[2]?.literal;
  return {
    cost: scale(text, 2 * PER_CHARACTER),
    size: { min: 0, max: typeof limit === 'bigint' && limit >= 0n ? Number(limit) : text.max },
  };
};

const joining: Estimating = (args) => {
  const list = sizeAt(args, 0);
  let size = multiply(list, args[0]?.element?.size ?? unbounded);
  if (args.length > 1) {
    const separators = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
    size = add(size, multiply(sizeAt(args, 1), separators));
  }
  return { cost: scale(size, PER_CHARACTER), size };
};

const selector: Estimating = (args) => {
  const size = sizeAt(args, 1);
  const requirements = scale(scale(size, 0.5), containerCosts.list + containerCosts.struct);
  return { cost: add(fixed(containerCosts.list), scale(size, PER_CHARACTER), requirements) };
};

/** An address has 4 or 16 bytes. */
const addressSize: Range = { min: 4, max: 16 };

const containment =
  (isRange: boolean): Estimating =>
  (args, id) => {
    const parts = [scale(add(addressSize, addressSize), PER_CHARACTER)];
    if (isRange) parts.push(scale(addressSize, PER_CHARACTER), one);
    if (id.endsWith('_string')) parts.push(scale(sizeAt(args, 1), PER_CHARACTER));
    return { cost: add(...parts) };
  };

const FORMAT_PATTERN_LENGTH = 128;

const allocating = (size: Range): CallEstimate => ({ cost: add(fixed(containerCosts.list), size, one), size });

const slicing: Estimating = (args) => {
  const [start, end] = [args[1]?.literal, args[2]?.literal];
  const from = typeof start === 'bigint' ? Number(start) : 0;
  const to = typeof end === 'bigint' ? Number(end) : sizeAt(args, 0).max;
  return allocating(fixed(Math.max(0, to - from)));
};

const rows: readonly (readonly [readonly string[], Estimating])[] = [
  [['check'], () => ({ cost: fixed(AUTHORIZATION_CHECK_COST) })],
  [['fieldSelector', 'labelSelector'], selector],
  [['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], listWalk],
  [['url', 'jsonpatch.escapeKey', 'lowerAscii', 'upperAscii', 'substring', 'trim'], traversal(1, true)],
  [['replace'], replacing],
  [['split'], splitting],
  [['join'], joining],
  [['find', 'findAll'], finding],
  [['matches'], pattern],
  [['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver', 'format'], traversal(1)],
  [['ip'], (args, id) => (id === 'cidr_ip' ? { cost: one } : traversal(1)(args, id))],
  [['ip.isCanonical'], traversal(2)],
  [['containsIP'], containment(false)],
  [['containsCIDR'], containment(true)],
  [
    ['validate'],
    (args) => ({ cost: scale(scale(sizeAt(args, 1), PER_CHARACTER), FORMAT_PATTERN_LENGTH * PER_PATTERN_CHARACTER) }),
  ],
  [['startsWith', 'endsWith'], (args) => ({ cost: scale(sizeAt(args, 1), PER_CHARACTER) })],
  [
    ['contains'],
    (args) => ({ cost: multiply(scale(sizeAt(args, 0), PER_CHARACTER), scale(sizeAt(args, 1), PER_CHARACTER)) }),
  ],
  [
    ['strings.quote'],
    (args) => {
      const { min, max } = sizeAt(args, 0);
      return { cost: scale({ min, max }, PER_CHARACTER), size: { min: min + 2, max: max * 2 + 2 } };
    },
  ],
  [
    ['bytes'],
    (args, id) => {
      const { min, max } = sizeAt(args, 0);
      if (id !== 'string_to_bytes') return { cost: one };
      return { cost: scale({ min, max }, PER_CHARACTER), size: { min, max: max * 4 } };
    },
  ],
  [
    ['string'],
    (args, id) => {
      const { min, max } = sizeAt(args, 0);
      if (id !== 'bytes_to_string') return { cost: one };
      return { cost: scale({ min, max }, PER_CHARACTER), size: { min: Math.floor(min / 4), max } };
    },
  ],
  [['@in'], (args, id) => ({ cost: id === 'in_list' ? sizeAt(args, 1) : one })],
  [['_==_'], equality],
  [['_!=_'], comparison],
  [['_<_', '_<=_', '_>_', '_>=_'], ordering],
  [['_+_'], addition],
  [['slice'], slicing],
  [
    ['lists.range'],
    ([count]) => allocating(typeof count?.literal === 'bigint' ? fixed(Math.max(0, Number(count.literal))) : unbounded),
  ],
  [['reverse', 'flatten'], (args) => allocating(sizeAt(args, 0))],
  [
    ['distinct', 'sort', '@sortByAssociatedKeys'],
    (args) => ({
      cost: add(fixed(containerCosts.list), multiply(sizeAt(args, 0), sizeAt(args, 0)), one),
      size: sizeAt(args, 0),
    }),
  ],
];

const estimates = new Map(rows.flatMap(([names, estimate]) => names.map((name) => [name, estimate] as const)));

/**
 * The cost of a call without its arguments (upstream: checker/cost.go functionCost, cel/library/cost.go
 * EstimateCallCost).
 */
export function estimateCall(name: string, overloadId: string, args: readonly SizedArgument[]): CallEstimate {
  const found = estimates.get(name);
  return found === undefined ? { cost: one } : found(args, overloadId);
}
