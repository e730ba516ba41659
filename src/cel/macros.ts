import type { Expr } from './ast.ts';
import { ACCUMULATOR } from './ast.ts';
import type { NodeFactory } from './node-factory.ts';

/** An invalid argument of a macro; the position is that of the argument. */
export class MacroFault extends Error {
  readonly at: Expr;

  constructor(message: string, at: Expr) {
    super(message);
    this.at = at;
  }
}

interface MacroCall {
  readonly nodes: NodeFactory;
  readonly offset: number;
  /** The expression before the dot. */
  readonly target: Expr;
  readonly args: readonly Expr[];
}

/** Returns the expansion of a call. Undefined for a call that is not a macro. Throws MacroFault. */
export type Macro = (call: MacroCall) => Expr | undefined;

/** Macros by name, number of arguments and whether they have a target. */
export type MacroTable = ReadonlyMap<string, Macro>;

export const macroKey = (name: string, argumentCount: number, hasTarget: boolean): string =>
  `${name}/${argumentCount}${hasTarget ? '.' : ''}`;

/** `has` has no target; it gets its argument as the only one. */
const has: Macro = ({ nodes, offset, target }) => {
  if (target.kind !== 'select' || target.testOnly) throw new MacroFault('invalid argument to has() macro', target);
  return nodes.select(offset, target.operand, target.field, true);
};

const argument = (args: readonly Expr[], index: number): Expr => args[index] as Expr;

function variable(expr: Expr, message = 'argument must be a simple name'): string {
  if (expr.kind !== 'ident' || expr.name.startsWith('.')) throw new MacroFault(message, expr);
  if (expr.name === ACCUMULATOR || expr.name === '__result__')
    throw new MacroFault('iteration variable overwrites accumulator variable', expr);
  return expr.name;
}

function variables(args: readonly Expr[]): [string, string] {
  const first = variable(argument(args, 0));
  const second = variable(argument(args, 1));
  if (first === second) throw new MacroFault(`duplicate variable name: ${first}`, argument(args, 1));
  return [first, second];
}

interface Loop {
  readonly start: (nodes: NodeFactory, offset: number) => Expr;
  readonly condition: (nodes: NodeFactory, offset: number) => Expr;
  readonly step: (nodes: NodeFactory, offset: number, body: Expr) => Expr;
  readonly result: (nodes: NodeFactory, offset: number) => Expr;
}

const always = (nodes: NodeFactory, offset: number): Expr => nodes.literal(offset, true);
const accumulated = (nodes: NodeFactory, offset: number): Expr => nodes.accumulator(offset);

const all: Loop = {
  start: (nodes, offset) => nodes.literal(offset, true),
  condition: (nodes, offset) => nodes.call(offset, '@not_strictly_false', nodes.accumulator(offset)),
  step: (nodes, offset, body) => nodes.call(offset, '_&&_', nodes.accumulator(offset), body),
  result: accumulated,
};
const exists: Loop = {
  start: (nodes, offset) => nodes.literal(offset, false),
  condition: (nodes, offset) =>
    nodes.call(offset, '@not_strictly_false', nodes.call(offset, '!_', nodes.accumulator(offset))),
  step: (nodes, offset, body) => nodes.call(offset, '_||_', nodes.accumulator(offset), body),
  result: accumulated,
};
const existsOne: Loop = {
  start: (nodes, offset) => nodes.literal(offset, 0n),
  condition: always,
  step: (nodes, offset, body) =>
    nodes.call(
      offset,
      '_?_:_',
      body,
      nodes.call(offset, '_+_', nodes.accumulator(offset), nodes.literal(offset, 1n)),
      nodes.accumulator(offset),
    ),
  result: (nodes, offset) => nodes.call(offset, '_==_', nodes.accumulator(offset), nodes.literal(offset, 1n)),
};

function fold(call: MacroCall, loop: Loop, names: readonly [string, string | undefined], body: Expr): Expr {
  const { nodes, offset, target } = call;
  return nodes.comprehension(offset, {
    iterVar: names[0],
    iterVar2: names[1],
    range: target,
    accuVar: ACCUMULATOR,
    accuInit: loop.start(nodes, offset),
    condition: loop.condition(nodes, offset),
    step: loop.step(nodes, offset, body),
    result: loop.result(nodes, offset),
  });
}

const quantifier =
  (loop: Loop): Macro =>
  (call) =>
    fold(call, loop, [variable(argument(call.args, 0)), undefined], argument(call.args, 1));

const quantifierOfTwo =
  (loop: Loop): Macro =>
  (call) =>
    fold(call, loop, variables(call.args), argument(call.args, 2));

/** A loop that collects `step` of the elements that pass the filter, if there is one. */
function collect(
  start: Loop['start'],
  filter: Expr | undefined,
  step: (call: NodeFactory, offset: number) => Expr,
): Loop {
  return {
    start,
    condition: always,
    step: (nodes, offset) => {
      const taken = step(nodes, offset);
      return filter === undefined ? taken : nodes.call(offset, '_?_:_', filter, taken, nodes.accumulator(offset));
    },
    result: accumulated,
  };
}

const emptyList = (nodes: NodeFactory, offset: number): Expr => nodes.list(offset, []);
const emptyMap = (nodes: NodeFactory, offset: number): Expr => nodes.map(offset, []);

function collectList(
  call: MacroCall,
  names: readonly [string, string | undefined],
  filter: Expr | undefined,
  item: Expr,
): Expr {
  const append = (nodes: NodeFactory, offset: number): Expr =>
    nodes.call(offset, '_+_', nodes.accumulator(offset), nodes.list(offset, [item]));
  return fold(call, collect(emptyList, filter, append), names, item);
}

const map: Macro = (call) => {
  const name = variable(argument(call.args, 0), 'argument is not an identifier');
  const hasFilter = call.args.length === 3;
  const filter = hasFilter ? argument(call.args, 1) : undefined;
  return collectList(call, [name, undefined], filter, argument(call.args, hasFilter ? 2 : 1));
};

const filter: Macro = (call) => {
  const name = variable(argument(call.args, 0), 'argument is not an identifier');
  return collectList(call, [name, undefined], argument(call.args, 1), argument(call.args, 0));
};

const filterAndItem = (args: readonly Expr[]): [Expr | undefined, Expr] =>
  args.length === 4 ? [argument(args, 2), argument(args, 3)] : [undefined, argument(args, 2)];

const transformList: Macro = (call) => collectList(call, variables(call.args), ...filterAndItem(call.args));

const transformMap: Macro = (call) => {
  const names = variables(call.args);
  const [condition, value] = filterAndItem(call.args);
  const insert = (nodes: NodeFactory, offset: number): Expr =>
    nodes.call(offset, 'cel.@mapInsert', nodes.accumulator(offset), nodes.ident(offset, names[0]), value);
  return fold(call, collect(emptyMap, condition, insert), names, value);
};

const transformMapEntry: Macro = (call) => {
  const names = variables(call.args);
  const [condition, entry] = filterAndItem(call.args);
  const insert = (nodes: NodeFactory, offset: number): Expr =>
    nodes.call(offset, 'cel.@mapInsert', nodes.accumulator(offset), entry);
  return fold(call, collect(emptyMap, condition, insert), names, entry);
};

/** A loop without iterations, whose accumulator is the bound variable. */
function bindTo(nodes: NodeFactory, offset: number, name: string, value: Expr, result: Expr): Expr {
  return nodes.comprehension(offset, {
    iterVar: '#unused',
    iterVar2: undefined,
    range: nodes.list(offset, []),
    accuVar: name,
    accuInit: value,
    condition: nodes.literal(offset, false),
    step: nodes.ident(offset, name),
    result,
  });
}

const bind: Macro = ({ nodes, offset, target, args }) => {
  if (target.kind !== 'ident' || target.name !== 'cel') return undefined;
  const name = argument(args, 0);
  if (name.kind !== 'ident') throw new MacroFault('cel.bind() variable names must be simple identifiers', name);
  return bindTo(nodes, offset, name.name, argument(args, 1), argument(args, 2));
};

const optionalMap =
  (isFlat: boolean): Macro =>
  ({ nodes, offset, target, args }) => {
    const name = argument(args, 0);
    const macro = isFlat ? 'optFlatMap' : 'optMap';
    if (name.kind !== 'ident') throw new MacroFault(`${macro}() variable name must be a simple identifier`, name);
    const value = nodes.method(offset, target, 'value', []);
    const inner = bindTo(nodes, offset, name.name, value, argument(args, 1));
    return nodes.call(
      offset,
      '_?_:_',
      nodes.method(offset, target, 'hasValue', []),
      isFlat ? inner : nodes.call(offset, 'optional.of', inner),
      nodes.call(offset, 'optional.none'),
    );
  };

type Row = readonly [name: string, argumentCounts: readonly number[], macro: Macro];

const rows = (...list: Row[]): MacroTable =>
  new Map(
    list.flatMap(([name, counts, macro]) => counts.map((count) => [macroKey(name, count, true), macro] as const)),
  );

export const standardMacros: MacroTable = new Map([
  [macroKey('has', 1, false), has],
  ...rows(
    ['all', [2], quantifier(all)],
    ['exists', [2], quantifier(exists)],
    ['exists_one', [2], quantifier(existsOne)],
    ['existsOne', [2], quantifier(existsOne)],
    ['map', [2, 3], map],
    ['filter', [2], filter],
  ),
]);

export const comprehensionMacros: MacroTable = rows(
  ['all', [3], quantifierOfTwo(all)],
  ['exists', [3], quantifierOfTwo(exists)],
  ['exists_one', [3], quantifierOfTwo(existsOne)],
  ['existsOne', [3], quantifierOfTwo(existsOne)],
  ['transformList', [3, 4], transformList],
  ['transformMap', [3, 4], transformMap],
  ['transformMapEntry', [3, 4], transformMapEntry],
);

export const optionalMacros: MacroTable = rows(
  ['optMap', [2], optionalMap(false)],
  ['optFlatMap', [2], optionalMap(true)],
);

export const bindingMacros: MacroTable = rows(['bind', [3], bind]);
