import { isRecord } from '../../base/json-record.ts';
import type { ValidationRule } from '../../api/structural/json-schema.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import type { CelBudget } from '../../cel/budget.ts';
import type { Ratchet } from './correlation.ts';
import { Correlation, correlateItems, isUnchanged, noRatchet, ratchetField, ratchetItem } from './correlation.ts';
import type { PlacedRule, RuleTree } from './rule-tree.ts';
import type { RuleResult } from './schema-rules.ts';

/** One value with rules. */
interface Task {
  readonly tree: RuleTree;
  readonly value: unknown;
  /** The old value; null and undefined mean that there was none. */
  readonly old: unknown;
  /** The path; '' for the whole object. */
  readonly path: string;
  readonly ratchet: Ratchet;
}

export interface RuleRun {
  /** The old value; undefined if there was none. */
  readonly old: { readonly value: unknown } | undefined;
  /** Whether errors in unchanged parts are only warnings. It needs `old`. */
  readonly ratchets: boolean;
  /** The path of the value, unless it is the whole object. */
  readonly path?: string;
  readonly budget: CelBudget;
  readonly warn: (text: string) => void;
}

/**
 * Evaluates the rules of a schema for a value, each part before its members (upstream: schema/cel/validation.go
 * Validate). It yields to the event loop between expensive rules. When the budget is used up, the remaining rules are
 * not evaluated.
 */
export async function evaluateRules(tree: RuleTree, value: unknown, run: RuleRun): Promise<readonly FieldError[]> {
  const tasks: Task[] = [];
  const correlation = run.ratchets && run.old !== undefined ? new Correlation(value, run.old.value) : undefined;
  const ratchet = correlation === undefined ? noRatchet : { own: correlation, around: undefined };
  gather(tasks, { tree, value, old: run.old?.value, path: run.path ?? '', ratchet }, run.path === undefined);
  const errors = new FieldErrors();
  for (const task of tasks)
    for (const rule of task.tree.rules) {
      if (!judge(errors, task, rule, run)) return errors.list;
      await run.budget.pace.rest();
    }
  return errors.list;
}

/** Collects the values in upstream's order: a value, then its members. The cost is linear in the size of the value. */
function gather(tasks: Task[], task: Task, isRoot: boolean): void {
  const { tree, value, old, path, ratchet } = task;
  if (value === null || value === undefined) return;
  if (tree.rules.length > 0) tasks.push(task);
  if (Array.isArray(value)) {
    const { items } = tree;
    if (items === undefined) return;
    const find = correlateItems(tree.node, old);
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      const before = find(item);
      const at = { tree: items, value: item, old: before?.value, path: `${path}[${index}]` };
      gather(tasks, { ...at, ratchet: ratchetItem(ratchet, item, before) }, false);
    }
  } else if (isRecord(value))
    for (const key of Object.keys(value)) {
      const known = tree.properties.get(key);
      const child = known ?? tree.additional;
      if (child === undefined) continue;
      const before = isRecord(old) && Object.hasOwn(old, key) ? old[key] : undefined;
      const step = known === undefined ? `[${key}]` : path === '' ? key : `.${key}`;
      const at = { tree: child, value: value[key], old: before, path: path + step };
      gather(tasks, { ...at, ratchet: ratchetField(ratchet, key, isRoot) }, false);
    }
}

/** Evaluates the rules of a task. Returns false if the budget is used up. */
function judge(errors: FieldErrors, task: Task, rule: PlacedRule, { budget, warn }: RuleRun): boolean {
  const { value, old, tree, ratchet } = task;
  const { text } = rule;
  const compiled = rule.compiled();
  const path = task.path === '' ? '<nil>' : task.path;
  const { type } = tree.node;
  if (compiled.ruleError !== undefined) {
    errors.invalid(path, type, `rule compile error: ${compiled.ruleError}`);
    return true;
  }
  const hasOldSelf = old !== undefined && old !== null;
  if (compiled.usesOldSelf && !hasOldSelf && text.optionalOldSelf !== true) return true;
  if (budget.left <= 0) {
    errors.invalid(path, type, OUT_OF_BUDGET);
    return false;
  }
  const result = compiled.evaluate({ self: value, oldSelf: old, hasOldSelf }, budget);
  switch (result.kind) {
    case 'pass':
      return true;
    case 'error':
      errors.invalid(path, type, describeError(result.message, text));
      return true;
    case 'budget':
      errors.invalid(path, type, describeBudget(result, text));
      return false;
    case 'fail': {
      const found = failure(task, rule, result.message ?? messageOf(text));
      if (compiled.usesOldSelf || !isUnchanged(ratchet)) errors.list.push(found);
      else warn(formatFieldError(found));
      return true;
    }
  }
}

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

const ruleName = ({ rule, message = '' }: ValidationRule): string => (message === '' ? rule : message).trim();
const messageOf = (text: ValidationRule): string =>
  (text.message ?? '') === '' ? `failed rule: ${ruleName(text)}` : ruleName(text);

function describeError(error: string, text: ValidationRule): string {
  return error.startsWith('no such overload')
    ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleName(text)}`
    : `${error} evaluating rule: ${ruleName(text)}`;
}

function describeBudget({ of, limit }: RuleResult & { readonly kind: 'budget' }, text: ValidationRule): string {
  if (of === 'message')
    return limit === 'object'
      ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
      : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(text.messageExpression)}`;
  return limit === 'object'
    ? OUT_OF_BUDGET
    : `'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleName(text)}`;
}

/** Returns the error of a false rule, with its reason. Objects and lists are not shown. */
function failure({ tree, value, path }: Task, { text, fieldPath }: PlacedRule, detail: string): FieldError {
  const whole = `${path}${fieldPath}`;
  const field = whole === '' ? '<nil>' : path === '' ? whole.replace(/^\./, '') : whole;
  const isHidden = tree.node.type === 'object' || tree.node.type === 'array';
  const errors = new FieldErrors();
  if (text.reason === 'FieldValueForbidden') errors.forbidden(field, detail);
  else if (text.reason === 'FieldValueRequired') errors.required(field, detail);
  else if (text.reason === 'FieldValueDuplicate')
    if (isHidden) errors.duplicateHidden(field);
    else errors.duplicate(field, value);
  else if (isHidden) errors.invalidHidden(field, detail);
  else errors.invalid(field, value, detail);
  return errors.list[0] as FieldError;
}
