import type { Call, Comprehension, Expr, Select } from './ast.ts';
import { ACCUMULATOR } from './ast.ts';
import type { CheckedExpression, Reference } from './checker.ts';
import { containerCosts, callCost, SELECT_COST } from './cost/call-cost.ts';
import type { Overload } from './environment.ts';
import type { Frame } from './frame.ts';
import { mayTake } from './runtime-types.ts';
import { selectIndex, selectKey, selectOptional } from './select.ts';
import { typeName } from './types.ts';
import type { CelResult, CelValue } from './values.ts';
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  EntryMap,
  isError,
  lookupKey,
  Optional,
  TypeValue,
  valueTypeName,
} from './values.ts';

/** An executable part of an expression. */
export type Step = (frame: Frame) => CelResult;

/** Compiles a checked expression to functions, so that names are resolved only once. */
export function planExpression(checked: CheckedExpression): Step {
  return new Planner(checked.references).plan(checked.expr);
}

interface Scope {
  readonly slots: ReadonlyMap<string, number>;
  readonly outer: Scope | undefined;
}

class Planner {
  readonly #references: ReadonlyMap<number, Reference>;
  #scope: Scope | undefined;
  #slotCount = 0;

  constructor(references: ReadonlyMap<number, Reference>) {
    this.#references = references;
  }

  plan(expr: Expr): Step {
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return this.#named(this.#references.get(expr.id));
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr.elements, expr.optional);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#comprehension(expr);
    }
  }

  #slot(name: string): number | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const slot = scope.slots.get(name);
      if (slot !== undefined) return slot;
    }
    return undefined;
  }

  #named(reference: Reference | undefined): Step {
    if (reference?.kind === 'type') {
      const value = new TypeValue(typeName(reference.type));
      return () => value;
    }
    if (reference?.kind !== 'variable') throw new Error('the expression was not checked');
    const slot = this.#slot(reference.name);
    if (slot !== undefined) {
      return (frame) => {
        frame.charge(SELECT_COST);
        return frame.slots[slot] as CelResult;
      };
    }
    const name = reference.name.slice(1);
    const missing = new CelError(`no such attribute(s): ${name}`);
    return (frame) => {
      frame.charge(SELECT_COST);
      const value = frame.variable(name);
      return value === undefined ? missing : value;
    };
  }

  #select(expr: Select): Step {
    const reference = this.#references.get(expr.id);
    if (reference !== undefined) return this.#named(reference);
    const operand = this.plan(expr.operand);
    const { field, testOnly } = expr;
    if (testOnly) {
      return (frame) => {
        const value = operand(frame);
        return isError(value) ? value : hasField(value, field);
      };
    }
    return (frame) => {
      const value = operand(frame);
      if (isError(value)) return value;
      frame.charge(SELECT_COST);
      return selectKey(value, field);
    };
  }

  #call(expr: Call): Step {
    const reference = this.#references.get(expr.id);
    if (reference?.kind !== 'function') throw new Error('the expression was not checked');
    const args = expr.args.map((argument) => this.plan(argument));
    const isMember = expr.target !== undefined && !reference.isQualified;
    if (isMember) args.unshift(this.plan(expr.target as Expr));
    const [first, second, third] = args as [Step, Step, Step];
    switch (reference.name) {
      case '_&&_':
        return planLogical(first, second, false);
      case '_||_':
        return planLogical(first, second, true);
      case '_?:_':
      case '_?_:_':
        return planConditional(first, second, third);
      case '@not_strictly_false':
        return (frame) => {
          const value = first(frame);
          frame.charge(1);
          return isError(value) || value !== false;
        };
      case '_[_]':
        return planIndex(first, second, selectIndex);
      case '_[?_]':
      case '_?._':
        return planIndex(first, second, selectOptional);
      default:
        return planCall(reference.name, reference.overloads, args);
    }
  }

  #list(elements: readonly Expr[], optional: ReadonlySet<number>): Step {
    const steps = elements.map((element) => this.plan(element));
    return (frame) => {
      const items: CelValue[] = [];
      for (const [index, step] of steps.entries()) {
        const value = step(frame);
        if (isError(value)) return value;
        if (!optional.has(index)) items.push(value);
        else if (!(value instanceof Optional)) return notOptional(value);
        else if (value.value !== undefined) items.push(value.value);
      }
      frame.charge(containerCosts.list);
      return new ArrayList(items);
    };
  }

  #map(expr: Expr & { kind: 'map' }): Step {
    const entries = expr.entries.map(({ key, value, optional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      optional,
    }));
    return (frame) => {
      const map = new EntryMap();
      for (const entry of entries) {
        const key = entry.key(frame);
        if (isError(key)) return key;
        const value = entry.value(frame);
        if (isError(value)) return value;
        const fault = addEntry(map, key, value, entry.optional);
        if (fault !== undefined) return fault;
      }
      frame.charge(containerCosts.map);
      return map;
    };
  }

  #struct(expr: Expr & { kind: 'struct' }): Step {
    const reference = this.#references.get(expr.id);
    if (reference?.kind !== 'struct') throw new Error('the expression was not checked');
    const fields = expr.fields.map(({ name, value, optional }) => ({ name, step: this.plan(value), optional }));
    const { create } = reference.struct;
    return (frame) => {
      const values = new Map<string, CelValue>();
      for (const { name, step, optional } of fields) {
        const value = step(frame);
        if (isError(value)) return value;
        if (!optional) values.set(name, value);
        else if (!(value instanceof Optional)) return notOptional(value);
        else if (value.value !== undefined) values.set(name, value.value);
      }
      frame.charge(containerCosts.struct);
      return create(values);
    };
  }

  #comprehension(expr: Comprehension): Step {
    const range = this.plan(expr.range);
    const start = this.plan(expr.accuInit);
    const before = { scope: this.#scope, slotCount: this.#slotCount };
    const accumulator = this.#slotCount;
    const [first, second] = [accumulator + 1, accumulator + 2];
    this.#slotCount += 3;
    const inner: Scope = { slots: new Map([[expr.accuVar, accumulator]]), outer: before.scope };
    const names = new Map([[expr.iterVar, first]]);
    if (expr.iterVar2 !== undefined) names.set(expr.iterVar2, second);
    this.#scope = { slots: names, outer: inner };
    const condition = this.plan(expr.condition);
    const step = this.#growingStep(expr, accumulator) ?? this.plan(expr.step);
    this.#scope = inner;
    const result = this.plan(expr.result);
    this.#scope = before.scope;
    this.#slotCount = before.slotCount;
    const isPair = expr.iterVar2 !== undefined;
    return (frame) => {
      const over = range(frame);
      if (isError(over)) return over;
      frame.slots[accumulator] = start(frame);
      const turn = (one: CelValue, other: CelValue): boolean => {
        frame.slots[first] = one;
        frame.slots[second] = other;
        if (condition(frame) !== true) return false;
        frame.slots[accumulator] = step(frame);
        return true;
      };
      if (over instanceof CelList) {
        for (let index = 0; index < over.length; index += 1) {
          frame.charge(LOOP_COST);
          const go = isPair ? turn(BigInt(index), over.at(index)) : turn(over.at(index), null);
          if (!go) break;
        }
      } else if (over instanceof CelMap) {
        for (const key of over.keys()) {
          frame.charge(LOOP_COST);
          if (!turn(key, isPair ? selectIndexed(over, key) : null)) break;
        }
      } else return new CelError(`got '${valueTypeName(over)}', expected iterable type`);
      return result(frame);
    };
  }

  /**
   * A macro that collects a list or a map adds to it in place: the expression cannot see the accumulator before the
   * loop has ended.
   */
  #growingStep(expr: Comprehension, accumulator: number): Step | undefined {
    if (expr.accuVar !== ACCUMULATOR) return undefined;
    if (expr.accuInit.kind !== 'list' && expr.accuInit.kind !== 'map') return undefined;
    const { step } = expr;
    if (step.kind !== 'call') return undefined;
    if (step.name === '_?_:_') {
      const grow = this.#growth(step.args[1], accumulator);
      return grow && planConditional(this.plan(step.args[0] as Expr), grow, this.plan(step.args[2] as Expr));
    }
    return this.#growth(step, accumulator);
  }

  #growth(step: Expr | undefined, accumulator: number): Step | undefined {
    if (step?.kind !== 'call') return undefined;
    const values = step.args.slice(1);
    if (step.name === '_+_' && values[0]?.kind === 'list') {
      const item = this.plan(values[0].elements[0] as Expr);
      return (frame) => {
        const list = frame.slots[accumulator] as CelResult;
        const value = item(frame);
        frame.charge(SELECT_COST + containerCosts.list + 1);
        if (isError(value) || !(list instanceof ArrayList)) return isError(list) ? list : value;
        list.push(value);
        return list;
      };
    }
    if (step.name !== 'cel.@mapInsert') return undefined;
    const steps = values.map((value) => this.plan(value));
    return (frame) => {
      const map = frame.slots[accumulator] as CelResult;
      frame.charge(SELECT_COST + 1);
      const given = steps.map((value) => value(frame));
      if (!(map instanceof EntryMap)) return map;
      return insertAll(map, given) ?? map;
    };
  }
}

/** Each iteration of a loop counts as work, even when cel-go charges nothing for it. */
const LOOP_COST = 0.25;

function insertAll(map: EntryMap, given: readonly CelResult[]): CelError | undefined {
  const fault = given.find(isError);
  if (fault !== undefined) return fault;
  const [key, value] = given as CelValue[];
  if (given.length === 2) return addEntry(map, key as CelValue, value as CelValue, false);
  if (!(key instanceof CelMap)) return new CelError('no such overload');
  for (const name of key.keys()) {
    const failed = addEntry(map, name, selectIndexed(key, name), false);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

function selectIndexed(map: CelMap, key: CelValue): CelValue {
  const lookup = lookupKey(key);
  return (lookup === undefined ? undefined : map.get(lookup)) ?? null;
}

function addEntry(map: EntryMap, key: CelValue, value: CelValue, optional: boolean): CelError | undefined {
  if (optional && !(value instanceof Optional)) return notOptional(value);
  const kept = optional ? (value as Optional).value : value;
  if (kept === undefined) return undefined;
  const lookup = typeof key === 'number' ? undefined : lookupKey(key);
  if (lookup === undefined) return new CelError(`unsupported key type: ${valueTypeName(key)}`);
  if (map.add(lookup, key, kept)) return undefined;
  return new CelError(`insert failed: key ${String(lookup)} already exists`);
}

const notOptional = (value: CelValue): CelError =>
  new CelError(`cannot initialize optional entry from non-optional value of type ${valueTypeName(value)}`);

function hasField(value: CelValue, field: string): CelResult {
  if (value instanceof Optional) return value.value === undefined ? false : hasField(value.value, field);
  if (value instanceof CelMap) return value.has(field);
  return new CelError(`invalid type for field selection: ${valueTypeName(value)}`);
}

/** `&&` and `||`: if one side decides, an error of the other side is ignored. */
function planLogical(left: Step, right: Step, deciding: boolean): Step {
  return (frame) => {
    const first = left(frame);
    if (first === deciding) return deciding;
    const second = right(frame);
    if (second === deciding) return deciding;
    if (isError(first)) return first;
    if (isError(second)) return second;
    if (typeof first === 'boolean' && typeof second === 'boolean') return !deciding;
    return new CelError('no such overload');
  };
}

function planConditional(condition: Step, whenTrue: Step, whenFalse: Step): Step {
  return (frame) => {
    const value = condition(frame);
    if (value === true) return whenTrue(frame);
    if (value === false) return whenFalse(frame);
    return isError(value) ? value : new CelError('no such overload');
  };
}

function planIndex(operand: Step, key: Step, select: (value: CelValue, key: CelValue) => CelResult): Step {
  return (frame) => {
    const value = operand(frame);
    if (isError(value)) return value;
    const index = key(frame);
    if (isError(index)) return index;
    frame.charge(SELECT_COST);
    return select(value, index);
  };
}

function planCall(name: string, overloads: readonly Overload[], steps: readonly Step[]): Step {
  const candidates = overloads.map((overload) => ({ overload, takes: mayTake(overload.params) }));
  const cost = callCost(name);
  return (frame) => {
    const args: CelValue[] = [];
    for (const step of steps) {
      const value = step(frame);
      if (isError(value)) return value;
      args.push(value);
    }
    for (const { overload, takes } of candidates) {
      if (!takes(args)) continue;
      frame.charge(cost(overload.id, args, frame.work));
      return overload.call(args, frame.work);
    }
    return new CelError(`no such overload: ${name}(${args.map(valueTypeName).join(', ')})`);
  };
}
