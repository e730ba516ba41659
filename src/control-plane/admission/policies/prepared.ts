import type { MatchCondition } from '../../../api/admissionregistration/webhook.ts';
import type { Program } from '../../../cel/compile.ts';
import type { Environment } from '../../../cel/environment.ts';
import type { CelType } from '../../../cel/types.ts';
import { compileTyped } from '../../cel/policy-environment.ts';

/** An expression with its text: compiled, or with its error. */
export interface Prepared {
  readonly source: string;
  readonly program: Program | { readonly fault: string };
}

export function prepare(source: string, environment: Environment, ...wanted: CelType['kind'][]): Prepared {
  return { source, program: compileTyped(source.trim(), environment, wanted) };
}

export const prepareConditions = (conditions: readonly MatchCondition[], environment: Environment): Prepared[] =>
  conditions.map(({ expression }) => prepare(expression, environment, 'bool'));
