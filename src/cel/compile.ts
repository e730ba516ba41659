import type { Expr } from './ast.ts';
import { checkLiterals } from './check-literals.ts';
import type { CheckedExpression, TypeFault } from './checker.ts';
import { checkExpression } from './checker.ts';
import type { Environment } from './environment.ts';
import type { Variables } from './frame.ts';
import { Frame } from './frame.ts';
import { parseExpression } from './parser.ts';
import type { Step } from './planner.ts';
import { planExpression } from './planner.ts';
import { describeFaults } from './source-faults.ts';
import { SyntaxFault } from './syntax-fault.ts';
import type { CelType } from './types.ts';
import type { CelResult } from './values.ts';
import { CostExceeded } from './work.ts';

/** The longest expression that is accepted. Upstream accepts 100,000 characters, which would hold the event loop. */
const SOURCE_LIMIT = 20_000;

export interface Program {
  readonly source: string;
  readonly checked: CheckedExpression;
  readonly type: CelType;
  /**
   * Evaluates the expression. Expected failures are returned as values. The cost never exceeds `limit`, in cel-go's
   * units. Throws Suspension when it must wait for an answer.
   */
  evaluate(variables: Variables, limit: number): Evaluation;
}

export interface Evaluation {
  readonly result: CelResult | 'cost-exceeded';
  /** The cost that was spent. */
  readonly cost: number;
}

/** A program, or the errors of the text in upstream's format: position, message and the marked line. */
export function compileExpression(source: string, environment: Environment): Program | { readonly fault: string } {
  if (source.length > SOURCE_LIMIT)
    return {
      fault: `ERROR: <input>:1:1: expression code point size exceeds limit: size: ${source.length}, limit ${SOURCE_LIMIT}`,
    };
  const expr = parse(source, environment);
  if ('faults' in expr) return { fault: describeFaults(source, expr.faults) };
  const checked = checkExpression(expr, environment);
  if (!('expr' in checked)) return { fault: describeFaults(source, checked) };
  const wrong = environment.parts.checksLiterals ? checkLiterals(checked.expr) : [];
  if (wrong.length > 0) return { fault: describeFaults(source, wrong) };
  let step: Step | undefined;
  return {
    source,
    checked,
    type: checked.type,
    evaluate: (variables, limit) => {
      step ??= planExpression(checked);
      return run(step, variables, limit);
    },
  };
}

function parse(source: string, environment: Environment): Expr | { readonly faults: readonly TypeFault[] } {
  try {
    return parseExpression(source, environment.parts.macros);
  } catch (error) {
    if (error instanceof SyntaxFault) return { faults: [{ message: error.message, offset: error.start }] };
    throw error;
  }
}

function run(step: Step, variables: Variables, limit: number): Evaluation {
  const frame = new Frame(variables, limit);
  try {
    const result = step(frame);
    return { result, cost: Math.floor(frame.cost) };
  } catch (error) {
    if (error instanceof CostExceeded) return { result: 'cost-exceeded', cost: limit + 1 };
    throw error;
  }
}
