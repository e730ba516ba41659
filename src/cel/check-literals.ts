import { compilePattern } from '../base/linear-pattern.ts';
import type { Expr } from './ast.ts';
import type { TypeFault } from './checker.ts';
import { parseDuration, parseTimestamp } from './time/formats.ts';
import { CelError } from './values.ts';

/** The instructions of all checked patterns together; further patterns are compiled when they are used. */
const MOST_INSTRUCTIONS = 20_000;

/**
 * The faults of literal arguments that can never be right: patterns, durations and times (upstream: cel-go
 * ValidateRegexLiterals, ValidateDurationLiterals, ValidateTimestampLiterals).
 */
export function checkLiterals(expr: Expr): readonly TypeFault[] {
  const faults: TypeFault[] = [];
  let left = MOST_INSTRUCTIONS;
  const isPattern = (text: string): boolean => {
    if (left <= 0) return true;
    const compiled = compilePattern(text);
    left -= typeof compiled === 'string' ? text.length : compiled.size;
    return typeof compiled !== 'string';
  };
  const isValid: ReadonlyMap<string, (text: string) => boolean> = new Map([
    ['matches', isPattern],
    ['duration', (text: string) => !(parseDuration(text) instanceof CelError)],
    ['timestamp', (text: string) => !(parseTimestamp(text) instanceof CelError)],
  ]);
  for (const each of allBelow(expr)) {
    if (each.kind !== 'call') continue;
    const [argument] = each.args;
    if (argument?.kind !== 'literal' || typeof argument.value !== 'string') continue;
    if (isValid.get(each.name)?.(argument.value) === false)
      faults.push({ message: `invalid ${each.name} argument`, offset: argument.offset });
  }
  return faults;
}

function* allBelow(root: Expr): Iterable<Expr> {
  const waiting = [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    waiting.push(...partsOf(next));
  }
}

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map(({ value }) => value);
    case 'comprehension':
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
  }
}
