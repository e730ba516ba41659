import type { Call, Comprehension, Expr } from '../ast.ts';
import { ACCUMULATOR } from '../ast.ts';
import type { CheckedExpression } from '../checker.ts';
import type { CelType } from '../types.ts';
import { dynType, isOptional } from '../types.ts';
import { countCodePoints } from '../unicode.ts';
import { containerCosts } from './call-cost.ts';
import type { CallEstimate, SizedArgument } from './estimate-call.ts';
import { estimateCall } from './estimate-call.ts';
import type { Range } from './range.ts';
import { add, fixed, multiply, one, unbounded, union, zero } from './range.ts';

/** The size of a value, and the sizes of its elements. */
interface Shape {
  readonly size: Range | undefined;
  /** The elements of a list, or the keys and values of a map, when the expression creates it. */
  readonly entries?: { readonly key: Range; readonly value: Range };
  /** Whether the value comes from a variable. The limits in its declared type then limit its size. */
  readonly isDeclared: boolean;
}

interface Estimate {
  readonly cost: Range;
  readonly shape: Shape;
}

const scalarKinds: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'duration', 'timestamp', 'type']);

/** The lowest and highest cost of one evaluation (upstream: checker/cost.go Cost). */
export function estimateCost(checked: CheckedExpression): Range {
  return new Estimator(checked).estimate(checked.expr).cost;
}

interface Locals {
  readonly name: string;
  readonly shape: Shape;
  readonly outer: Locals | undefined;
}

const nothing: Shape = { size: undefined, isDeclared: false };

class Estimator {
  readonly #checked: CheckedExpression;
  #locals: Locals | undefined;

  constructor(checked: CheckedExpression) {
    this.#checked = checked;
  }

  estimate(expr: Expr): Estimate {
    switch (expr.kind) {
      case 'literal':
        return { cost: zero, shape: { size: literalSize(expr.value), isDeclared: false } };
      case 'ident':
        return { cost: one, shape: this.#identShape(expr.name, this.#type(expr)) };
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct': {
        const costs = expr.fields.map(({ value }) => this.estimate(value).cost);
        return { cost: add(...costs, fixed(containerCosts.struct)), shape: nothing };
      }
      case 'comprehension':
        return this.#comprehension(expr);
    }
  }

  #type(expr: Expr): CelType {
    return this.#checked.types.get(expr.id) ?? dynType;
  }

  #identShape(name: string, type: CelType): Shape {
    for (let local = this.#locals; local !== undefined; local = local.outer) {
      if (local.name !== name) continue;
      return { ...local.shape, size: local.shape.size ?? declaredSize(type, local.shape.isDeclared) };
    }
    return { size: declaredSize(type, true), isDeclared: true };
  }

  #select(expr: Expr & { kind: 'select' }): Estimate {
    const reference = this.#checked.references.get(expr.id);
    if (reference !== undefined)
      return { cost: one, shape: { size: declaredSize(this.#type(expr), true), isDeclared: true } };
    const operand = this.estimate(expr.operand);
    if (expr.testOnly) return { cost: operand.cost, shape: { size: one, isDeclared: false } };
    const { kind } = this.#type(expr.operand);
    const own = kind === 'map' || kind === 'object' || kind === 'param' ? one : zero;
    const { isDeclared, entries } = operand.shape;
    return {
      cost: add(operand.cost, own),
      shape: { size: entries?.value ?? declaredSize(this.#type(expr), isDeclared), isDeclared },
    };
  }

  #list(expr: Expr & { kind: 'list' }): Estimate {
    const parts = expr.elements.map((element) => this.estimate(element));
    const value = parts.map(({ shape }) => shape.size ?? unbounded).reduce(union, noRange);
    return {
      cost: add(...parts.map(({ cost }) => cost), fixed(containerCosts.list)),
      shape: {
        size: fixed(parts.length),
        entries: { key: one, value: parts.length === 0 ? zero : value },
        isDeclared: false,
      },
    };
  }

  #map(expr: Expr & { kind: 'map' }): Estimate {
    const keys = expr.entries.map(({ key }) => this.estimate(key));
    const values = expr.entries.map(({ value }) => this.estimate(value));
    const sizeOf = (parts: readonly Estimate[]): Range =>
      parts.length === 0 ? zero : parts.map(({ shape }) => shape.size ?? unbounded).reduce(union, noRange);
    return {
      cost: add(...keys.map(({ cost }) => cost), ...values.map(({ cost }) => cost), fixed(containerCosts.map)),
      shape: { size: fixed(keys.length), entries: { key: sizeOf(keys), value: sizeOf(values) }, isDeclared: false },
    };
  }

  #call(expr: Call): Estimate {
    const reference = this.#checked.references.get(expr.id);
    if (reference?.kind !== 'function') return { cost: zero, shape: nothing };
    const isMember = expr.target !== undefined && !reference.isQualified;
    const args = expr.args.map((argument) => this.estimate(argument));
    if (expr.name === 'dyn' && args[0] !== undefined) return { cost: add(one, args[0].cost), shape: args[0].shape };
    const target = isMember ? this.estimate(expr.target as Expr) : undefined;
    const targetCost = target?.cost ?? zero;
    const all = target === undefined ? args : [target, ...args];
    const exprs = isMember ? [expr.target as Expr, ...expr.args] : expr.args;
    if (expr.name === '_&&_' || expr.name === '_||_') return logical(args as [Estimate, Estimate]);
    if (expr.name === '_?_:_') return conditional(args as [Estimate, Estimate, Estimate]);
    const sized = all.map((estimate, index) => this.#sized(estimate, exprs[index] as Expr));
    let found: CallEstimate | undefined;
    for (const { id } of reference.overloads) {
      const call = estimateCall(reference.name, id, sized);
      if (found === undefined) found = call;
      else
        found = {
          cost: union(found.cost, call.cost),
          size: found.size && call.size ? union(found.size, call.size) : (found.size ?? call.size),
        };
    }
    const cost = add(targetCost, found?.cost ?? one, ...args.map((argument) => argument.cost));
    return { cost, shape: this.#resultShape(expr, all, found?.size) };
  }

  #sized(estimate: Estimate, expr: Expr): SizedArgument {
    const type = this.#type(expr);
    const { shape } = estimate;
    const element = type.kind === 'list' ? type.element : undefined;
    return {
      type,
      size: shape.size ?? unbounded,
      element: element && {
        type: element,
        size: declaredSize(element, shape.isDeclared) ?? shape.entries?.value ?? unbounded,
      },
      literal: expr.kind === 'literal' ? expr.value : undefined,
    };
  }

  #resultShape(expr: Call, args: readonly Estimate[], size: Range | undefined): Shape {
    const [first, second] = args.map(({ shape }) => shape);
    const type = this.#type(expr);
    if (expr.name === '_[_]' || expr.name === '_[?_]' || expr.name === '_?._') {
      const isDeclared = first?.isDeclared ?? false;
      return { size: first?.entries?.value ?? declaredSize(type, isDeclared), isDeclared };
    }
    const isSum = expr.name === '_+_' && first?.entries !== undefined && second?.entries !== undefined;
    const entries = isSum
      ? { key: union(first.entries.key, second.entries.key), value: union(first.entries.value, second.entries.value) }
      : undefined;
    return { size: size ?? declaredSize(type, false), entries, isDeclared: false };
  }

  #within<Result>(name: string, shape: Shape, work: () => Result): Result {
    const before = this.#locals;
    this.#locals = { name, shape, outer: before };
    const result = work();
    this.#locals = before;
    return result;
  }

  #comprehension(expr: Comprehension): Estimate {
    const range = this.estimate(expr.range);
    const start = this.estimate(expr.accuInit);
    const isBind = expr.range.kind === 'list' && expr.range.elements.length === 0 && expr.accuVar !== ACCUMULATOR;
    const [before, loop, result] = this.#within(expr.accuVar, start.shape, () => {
      const turn = isBind ? undefined : this.#turn(expr, range);
      return [add(range.cost, start.cost), turn, this.estimate(expr.result)] as const;
    });
    if (loop === undefined) return { cost: add(before, result.cost), shape: result.shape };
    const count = range.shape.size ?? unbounded;
    const cost = add(before, result.cost, multiply(count, loop.cost));
    const isContainer = expr.accuInit.kind === 'list' || expr.accuInit.kind === 'map';
    if (isContainer) return { cost, shape: { size: count, entries: loop.shape.entries, isDeclared: false } };
    return { cost, shape: { size: start.shape.size, isDeclared: false } };
  }

  /** The cost of one iteration of the loop. */
  #turn(expr: Comprehension, range: Estimate): Estimate {
    const type = this.#type(expr.range);
    const { entries, isDeclared } = range.shape;
    const part = (of: CelType | undefined, size: Range | undefined): Shape => ({
      size: size ?? (of && declaredSize(of, isDeclared)),
      isDeclared,
    });
    const key = part(type.kind === 'map' ? type.key : undefined, entries?.key);
    const value = part(
      type.kind === 'map' ? type.value : type.kind === 'list' ? type.element : undefined,
      entries?.value,
    );
    const isList = type.kind === 'list';
    const work = (): Estimate => {
      const condition = this.estimate(expr.condition);
      const step = this.estimate(expr.step);
      return { cost: add(condition.cost, step.cost), shape: step.shape };
    };
    if (expr.iterVar2 === undefined) return this.#within(expr.iterVar, isList ? value : key, work);
    const first = isList ? { size: one, isDeclared: false } : key;
    return this.#within(expr.iterVar, first, () => this.#within(expr.iterVar2 as string, value, work));
  }
}

const noRange: Range = { min: Number.POSITIVE_INFINITY, max: 0 };

function logical([left, right]: [Estimate, Estimate]): Estimate {
  return { cost: { min: left.cost.min, max: add(left.cost, right.cost).max }, shape: { size: one, isDeclared: false } };
}

function conditional([condition, whenTrue, whenFalse]: [Estimate, Estimate, Estimate]): Estimate {
  const entries =
    whenTrue.shape.entries && whenFalse.shape.entries
      ? {
          key: union(whenTrue.shape.entries.key, whenFalse.shape.entries.key),
          value: union(whenTrue.shape.entries.value, whenFalse.shape.entries.value),
        }
      : undefined;
  return {
    cost: add(condition.cost, union(whenTrue.cost, whenFalse.cost)),
    shape: {
      size: union(whenTrue.shape.size ?? unbounded, whenFalse.shape.size ?? unbounded),
      entries,
      isDeclared: false,
    },
  };
}

function literalSize(value: unknown): Range | undefined {
  if (typeof value === 'string') return fixed(countCodePoints(value));
  return value instanceof Uint8Array ? fixed(value.length) : one;
}

/** The possible sizes of a value of the type. Limits apply only to variables that were declared with them. */
function declaredSize(type: CelType, isDeclared: boolean): Range | undefined {
  if (scalarKinds.has(type.kind)) return one;
  if (isOptional(type)) {
    const inner = type.parameters[0];
    return inner === undefined ? undefined : declaredSize(inner, isDeclared);
  }
  // Upstream's object types declare no size, which its estimate reads as zero.
  if (isDeclared && type.kind === 'object') return zero;
  if (isDeclared && 'most' in type && type.most !== undefined) return { min: 0, max: type.most };
  return undefined;
}
