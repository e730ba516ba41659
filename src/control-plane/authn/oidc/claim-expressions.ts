import type { Expr } from '../../../cel/ast.ts';
import type { Program } from '../../../cel/compile.ts';
import { compileExpression } from '../../../cel/compile.ts';
import { fromJson, JsonList, JsonMap } from '../../../cel/json-values.ts';
import type { CelType } from '../../../cel/types.ts';
import { dynType, listOf, mapOf, objectType, stringType } from '../../../cel/types.ts';
import type { CelResult, CelValue, LookupKey } from '../../../cel/values.ts';
import { CelError } from '../../../cel/values.ts';
import { baseEnvironment } from '../../cel/environment.ts';
import { unescapeName } from '../../cel/escape-name.ts';
import { PER_CALL_LIMIT } from '../../cel/limits.ts';
import type { UserInfo } from '../../model/user-info.ts';

const claimsEnvironment = baseEnvironment.withVariables({ claims: mapOf(stringType, dynType) });
const userEnvironment = baseEnvironment.withVariables({
  user: objectType('kubernetes.UserInfo', {
    username: stringType,
    uid: stringType,
    groups: listOf(stringType),
    extra: mapOf(stringType, listOf(stringType)),
  }),
});

/**
 * Compiles an expression over `claims` or over `user`. A string is the error (upstream: authentication/cel/compile.go).
 */
export function compileClaims(source: string, wanted: 'any' | 'bool'): Program | string {
  return typed(compileExpression(source, claimsEnvironment), wanted);
}

export function compileUserRule(source: string): Program | string {
  return typed(compileExpression(source, userEnvironment), 'bool');
}

function typed(program: Program | { readonly fault: string }, wanted: 'any' | 'bool'): Program | string {
  if ('fault' in program) return `compilation failed: ${program.fault}`;
  const { kind }: CelType = program.type;
  return wanted === 'any' || kind === 'bool' ? program : 'must evaluate to bool';
}

/** Converts a claim for expressions. As in Go, each number is a double. Names that are not identifiers are escaped. */
function claimValue(raw: unknown): CelValue {
  if (typeof raw === 'number') return raw;
  if (typeof raw !== 'object' || raw === null) return fromJson(raw);
  return Array.isArray(raw)
    ? new JsonList(raw, claimValue)
    : new ClaimMap(raw as Readonly<Record<string, unknown>>, claimValue);
}

class ClaimMap extends JsonMap {
  override get(key: LookupKey): CelValue | undefined {
    return super.get(typeof key === 'string' ? unescapeName(key) : key);
  }
}

/** The value, or the reason in upstream's words why there is none. */
type Evaluated = { readonly value: CelValue } | { readonly error: string };

function evaluated(program: Program, result: CelResult | 'cost-exceeded'): Evaluated {
  if (result instanceof CelError)
    return { error: `expression '${program.source}' resulted in error: ${result.message}` };
  if (result === 'cost-exceeded')
    return {
      error: `expression '${program.source}' resulted in error: operation cancelled: actual cost limit exceeded`,
    };
  return { value: result };
}

export function evaluateClaims(program: Program, claims: Readonly<Record<string, unknown>>): Evaluated {
  const value = claimValue(claims);
  const { result } = program.evaluate((name) => (name === 'claims' ? value : undefined), PER_CALL_LIMIT);
  return evaluated(program, result);
}

export function evaluateUserRule(program: Program, user: UserInfo): Evaluated {
  const { name: username, uid = '', groups, extra = {} } = user;
  const value = claimValue({ username, uid, groups, extra });
  const { result } = program.evaluate((name) => (name === 'user' ? value : undefined), PER_CALL_LIMIT);
  return evaluated(program, result);
}

/** Whether the expression reads that claim: `claims.email` or `claims.?email`. */
export function usesClaim({ checked }: Program, claim: string): boolean {
  const isClaims = (expr: Expr | undefined): boolean => expr?.kind === 'ident' && expr.name === 'claims';
  const uses = (expr: Expr): boolean => {
    if (expr.kind === 'select' && expr.field === claim && isClaims(expr.operand)) return true;
    if (expr.kind === 'call' && expr.name === '_?._' && isClaims(expr.args[0])) {
      const name = expr.args[1];
      if (name?.kind === 'literal' && name.value === claim) return true;
    }
    return partsOf(expr).some(uses);
  };
  return uses(checked.expr);
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
