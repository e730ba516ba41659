import type { CelBudget } from '../../cel/budget.ts';
import type { Program } from '../../cel/compile.ts';
import { compileExpression } from '../../cel/compile.ts';
import { estimateCost } from '../../cel/cost/estimate-cost.ts';
import type { Range } from '../../cel/cost/range.ts';
import type { Variables } from '../../cel/frame.ts';
import { usesVariable } from '../../cel/parser.ts';
import { optionalOf } from '../../cel/types.ts';
import type { CelResult } from '../../cel/values.ts';
import { isError, none, Optional } from '../../cel/values.ts';
import { baseEnvironment } from './environment.ts';
import { PER_CALL_LIMIT, REQUEST_LIMIT_BYTES } from './limits.ts';
import type { RuleSchema, SchemaType } from './schema-types.ts';
import { schemaType } from './schema-types.ts';

/** A rule of `x-kubernetes-validations`. */
export interface RuleText {
  readonly rule: string;
  readonly messageExpression?: string;
  readonly optionalOldSelf?: boolean;
}

export interface CompiledRule {
  /** Whether it is a transition rule, which uses `oldSelf`. */
  readonly usesOldSelf: boolean;
  /** Upstream's message why the rule is invalid; undefined if it is valid. */
  readonly ruleError: string | undefined;
  readonly messageError: string | undefined;
  /** The maximum number of values of the schema in a request. */
  readonly mostValues: number;
  /** The minimum and maximum cost of one evaluation. */
  readonly ruleCost: Range;
  readonly messageCost: Range;
  evaluate(input: RuleInput, budget: CelBudget): RuleResult;
}

export interface RuleInput {
  readonly self: unknown;
  readonly oldSelf?: unknown;
  readonly hasOldSelf: boolean;
}

export type RuleResult =
  | { readonly kind: 'pass' }
  /** The message is the result of the message expression, if it is usable. */
  | { readonly kind: 'fail'; readonly message?: string }
  /** The error, with cel-go's message. */
  | { readonly kind: 'error'; readonly message: string }
  /**
   * The cost limit was exceeded, and the rest of the object is not evaluated. `limit` is the limit of one evaluation.
   */
  | { readonly kind: 'budget'; readonly of: 'rule' | 'message'; readonly limit: 'call' | 'object' };

const noCost: Range = { min: 0, max: 0 };
const MESSAGE_LIMIT = 5120;

/** The CEL type of the schema, created once for all its rules. */
const known = new WeakMap<RuleSchema, Map<boolean, SchemaType | undefined>>();

function typeOfSchema(schema: RuleSchema, isRoot: boolean): SchemaType | undefined {
  const types = known.get(schema) ?? new Map<boolean, SchemaType | undefined>();
  known.set(schema, types);
  if (!types.has(isRoot)) types.set(isRoot, schemaType(schema, isRoot, 'object'));
  return types.get(isRoot);
}

/** Prepares a rule for the values of a schema. */
export function compileRule(text: RuleText, schema: RuleSchema, options: { readonly isRoot: boolean }): CompiledRule {
  const self = typeOfSchema(schema, options.isRoot);
  if (self === undefined) return unusable('rules cannot be used on values that expressions cannot see');
  const oldType = text.optionalOldSelf === true ? optionalOf(self.type) : self.type;
  const environment = baseEnvironment.withVariables({ self: self.type, oldSelf: oldType });
  if (text.rule.trim() === '') return unusable('rule is not specified');
  const rule = compileExpression(text.rule, environment);
  if ('fault' in rule) return unusable(`compilation failed: ${rule.fault}`);
  if (rule.type.kind !== 'bool') return unusable('cel expression must evaluate to a bool');
  const message =
    text.messageExpression === undefined ? undefined : compileExpression(text.messageExpression, environment);
  const messageError = messageFault(message);
  const usable = message !== undefined && !('fault' in message) && messageError === undefined ? message : undefined;
  const usesOldSelf = usesVariable(rule.checked.expr, 'oldSelf');
  return {
    usesOldSelf,
    ruleError: undefined,
    messageError,
    mostValues: Math.floor(REQUEST_LIMIT_BYTES / (self.leastBytes + 1)),
    ruleCost: estimateCost(rule.checked),
    messageCost: usable === undefined ? noCost : estimateCost(usable.checked),
    evaluate: (input, budget) => evaluateRule({ rule, message: usable, self, text }, input, budget),
  };
}

function messageFault(message: ReturnType<typeof compileExpression> | undefined): string | undefined {
  if (message === undefined) return undefined;
  if ('fault' in message) return `messageExpression compilation failed: ${message.fault}`;
  return message.type.kind === 'string' ? undefined : 'messageExpression must evaluate to a string';
}

function unusable(ruleError: string): CompiledRule {
  return {
    usesOldSelf: false,
    ruleError,
    messageError: undefined,
    mostValues: 1,
    ruleCost: noCost,
    messageCost: noCost,
    evaluate: () => ({ kind: 'error', message: ruleError }),
  };
}

interface Prepared {
  readonly rule: Program;
  readonly message: Program | undefined;
  readonly self: SchemaType;
  readonly text: RuleText;
}

function evaluateRule({ rule, message, self, text }: Prepared, input: RuleInput, budget: CelBudget): RuleResult {
  const variables = (name: string): CelResult | undefined => {
    if (name === 'self') return self.adapt(input.self);
    if (name !== 'oldSelf') return undefined;
    if (text.optionalOldSelf === true) return input.hasOldSelf ? new Optional(self.adapt(input.oldSelf)) : none;
    return input.hasOldSelf ? self.adapt(input.oldSelf) : undefined;
  };
  const result = spend(rule, variables, budget);
  if (result === 'object' || result === 'call') return { kind: 'budget', of: 'rule', limit: result };
  if (isError(result.value)) return { kind: 'error', message: result.value.message };
  if (result.value === true) return { kind: 'pass' };
  if (message === undefined) return { kind: 'fail' };
  const said = spend(message, variables, budget);
  if (said === 'object' || said === 'call') return { kind: 'budget', of: 'message', limit: said };
  const shown = shownMessage(said.value);
  return { kind: 'fail', ...(shown !== undefined && { message: shown }) };
}

/** Evaluates within the remaining budget, or reports which limit was exceeded. */
function spend(
  program: Program,
  variables: Variables,
  budget: CelBudget,
): { readonly value: CelResult } | 'call' | 'object' {
  const limit = Math.min(PER_CALL_LIMIT, Math.max(0, budget.left));
  const { result, cost } = program.evaluate(variables, limit);
  const hasPaid = budget.spend(cost);
  if (result !== 'cost-exceeded') return { value: result };
  return hasPaid && limit === PER_CALL_LIMIT ? 'call' : 'object';
}

/** Returns the message if it is one line of at most 5120 characters; others are ignored. */
function shownMessage(value: CelResult): string | undefined {
  if (typeof value !== 'string') return undefined;
  const message = value.trim();
  return message === '' || message.length > MESSAGE_LIMIT || message.includes('\n') ? undefined : message;
}
