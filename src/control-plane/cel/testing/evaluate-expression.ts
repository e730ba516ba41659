import assert from 'node:assert/strict';
import type { Evaluation, Program } from '../../../cel/compile.ts';
import { compileExpression } from '../../../cel/compile.ts';
import type { Environment } from '../../../cel/environment.ts';
import { Suspension } from '../../../cel/frame.ts';
import type { CelValue } from '../../../cel/values.ts';
import { CelError } from '../../../cel/values.ts';
import { baseEnvironment } from '../environment.ts';

type Values = Readonly<Record<string, CelValue>>;

const LIMIT = 1_000_000;

function compile(source: string, environment: Environment): Program {
  const program = compileExpression(source, environment);
  assert.ok('evaluate' in program, 'fault' in program ? program.fault : '');
  return program;
}

/** Evaluates an expression that needs no answers of authorizers. An error is returned as `error: ...`. */
export function evaluate(
  source: string,
  variables: Values = {},
  environment = baseEnvironment,
): Evaluation['result'] | string {
  const { result } = compile(source, environment).evaluate((name) => variables[name], LIMIT);
  return result instanceof CelError ? `error: ${result.message}` : result;
}

/** Evaluates until all answers are available. */
export async function evaluateAsking(
  source: string,
  variables: Values,
  environment: Environment,
): Promise<Evaluation['result'] | string> {
  for (;;) {
    try {
      return evaluate(source, variables, environment);
    } catch (error) {
      if (!(error instanceof Suspension)) throw error;
      await error.answer;
    }
  }
}

/** Returns the error of the checker; undefined if the expression compiles. */
export function faultOf(source: string, environment = baseEnvironment): string | undefined {
  const program = compileExpression(source, environment);
  return 'fault' in program ? program.fault : undefined;
}
