import type { JsonSchema, ValidationRule } from '../../api/structural/json-schema.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import { additionalOf, itemsOf } from '../../api/structural/validate-structural.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import { CelBudget, CelPace } from '../../cel/budget.ts';
import { evaluateRules } from './evaluate-rules.ts';
import { CRD_ESTIMATE_LIMIT, RULE_ESTIMATE_LIMIT, RUNTIME_BUDGET } from './limits.ts';
import type { PlacedRule } from './rule-tree.ts';
import { placedRules, ruleTree } from './rule-tree.ts';

/** The position of a schema. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** The maximum number of values of this schema in an object; undefined if no enclosing schema limits it. */
  readonly cardinality: number | undefined;
  /** The enclosing list whose items cannot be correlated, so that there is no old value. */
  readonly uncorrelated: string | undefined;
}

interface SchemaAt extends Place {
  readonly schema: JsonSchema;
}

/** The cost charged for compiling an expression. */
const UNITS_PER_CHARACTER = 100;

/**
 * Returns the errors in the rules of an otherwise valid structural schema (upstream: apiextensions/validation
 * ValidateCustomResourceDefinitionOpenAPISchema). It yields to the event loop between rules.
 */
export async function checkSchemaRules(schema: JsonSchema, path: string): Promise<readonly FieldError[]> {
  if (!hasRules(schema)) return [];
  const check = new RuleCheck();
  const root = { schema, path, isRoot: true, cardinality: 1, uncorrelated: undefined };
  for (const each of schemasBelow(root)) await check.rulesOf(each);
  check.total(path);
  if (check.errors.list.length === 0) await checkDefaults(check.errors, root);
  return check.errors.list;
}

/** Whether any schema of the structure has rules. Most definitions have none. */
function hasRules(schema: JsonSchema): boolean {
  if (schema['x-kubernetes-validations'] !== undefined) return true;
  const { properties } = schema;
  if (properties !== undefined)
    for (const name of Object.keys(properties)) {
      const property = properties[name];
      if (property !== undefined && hasRules(property)) return true;
    }
  const [items, additional] = [itemsOf(schema), additionalOf(schema)];
  return (items !== undefined && hasRules(items)) || (additional !== undefined && hasRules(additional));
}

/** Generates every schema of the structure, inner ones first. */
function* schemasBelow(at: SchemaAt): Iterable<SchemaAt> {
  const { schema, path, cardinality, uncorrelated } = at;
  const inside = (child: JsonSchema, step: string): SchemaAt => ({
    schema: child,
    path: `${path}.${step}`,
    isRoot: child['x-kubernetes-embedded-resource'] === true,
    cardinality: multiply(cardinality, mostElements(schema)),
    uncorrelated,
  });
  const additional = additionalOf(schema);
  if (additional !== undefined) yield* schemasBelow(inside(additional, 'additionalProperties'));
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    yield* schemasBelow(inside(property, `properties[${name}]`));
  const items = itemsOf(schema);
  if (items !== undefined) {
    const isMap = schema['x-kubernetes-list-type'] === 'map';
    yield* schemasBelow({ ...inside(items, 'items'), uncorrelated: isMap ? uncorrelated : path });
  }
  yield at;
}

const multiply = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? undefined : left * right;

/**
 * Returns the maximum number of values on the next level, by which costs are multiplied (upstream: extractMaxElements).
 */
function mostElements(schema: JsonSchema): number | undefined {
  const bound = (most: number | undefined): number | undefined => most && Math.max(0, most);
  if (schema.type === 'array') return bound(schema.maxItems);
  return schema.type === 'object' && schema.additionalProperties !== undefined ? bound(schema.maxProperties) : 1;
}

/** If the total cost is too high, rules with at least this share of the limit are reported. */
const NAMED_SHARE = 0.01;
const NAMED_RULES = 4;

class RuleCheck {
  readonly errors = new FieldErrors();
  readonly #pace = new CelPace();
  readonly #expensive: { readonly path: string; readonly cost: number }[] = [];
  #total = 0;

  async rulesOf({ schema, isRoot, ...place }: SchemaAt): Promise<void> {
    for (const [index, rule] of placedRules(schema, isRoot).entries()) {
      this.#rule(rule, `${place.path}.x-kubernetes-validations[${index}]`, place);
      const { rule: source, messageExpression = '' } = rule.text;
      this.#pace.spend(UNITS_PER_CHARACTER * (source.length + messageExpression.length));
      await this.#pace.rest();
    }
  }

  #rule(
    { text, compiled }: PlacedRule,
    path: string,
    { cardinality, uncorrelated }: Pick<Place, 'cardinality' | 'uncorrelated'>,
  ): void {
    const { errors } = this;
    const { ruleError, ruleCost, messageError, messageCost, mostValues, usesOldSelf } = compiled();
    const cost = ruleCost.max === 0 ? 0 : ruleCost.max * (cardinality ?? mostValues);
    this.#count(`${path}.rule`, cost, 'estimated rule cost');
    if (ruleError !== undefined) errors.invalid(`${path}.rule`, shownRule(text), ruleError);
    if (messageError !== undefined) errors.invalid(`${path}.messageExpression`, shownRule(text), messageError);
    else if (text.messageExpression !== undefined)
      this.#count(`${path}.messageExpression`, messageCost.max, 'estimated messageExpression cost');
    if (ruleError !== undefined) return;
    if (usesOldSelf && uncorrelated !== undefined)
      errors.invalid(
        `${path}.rule`,
        text.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`,
      );
    if (!usesOldSelf && text.optionalOldSelf !== undefined)
      errors.invalid(`${path}.optionalOldSelf`, text.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
  }

  #count(path: string, cost: number, name: string): void {
    if (cost > RULE_ESTIMATE_LIMIT) this.errors.forbidden(path, tooExpensive(name, cost, RULE_ESTIMATE_LIMIT));
    this.#total += cost;
    if (cost >= CRD_ESTIMATE_LIMIT * NAMED_SHARE) this.#expensive.push({ path, cost });
  }

  total(path: string): void {
    if (this.#total <= CRD_ESTIMATE_LIMIT) return;
    const named = this.#expensive.toSorted((left, right) => right.cost - left.cost).slice(0, NAMED_RULES);
    for (const each of named)
      this.errors.forbidden(
        each.path,
        'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      );
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    this.errors.forbidden(path, tooExpensive(name, this.#total, CRD_ESTIMATE_LIMIT));
  }
}

function tooExpensive(name: string, cost: number, limit: number): string {
  const times = cost / limit;
  const factor = times > 100 ? 'more than 100x' : `${times.toFixed(times < 1.5 ? 6 : 1)}x`;
  return `${name} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** Formats a rule as Go's struct, whose fields have no JSON names. */
function shownRule({ rule, message = '', messageExpression = '', ...rest }: ValidationRule): object {
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: rest.reason ?? null,
    FieldPath: rest.fieldPath ?? '',
    OptionalOldSelf: rest.optionalOldSelf ?? null,
  };
}

/**
 * Checks defaults, which must satisfy the rules both as a new value and as an unchanged value (upstream: defaulting
 * ValidateDefaults).
 */
async function checkDefaults(errors: FieldErrors, root: SchemaAt): Promise<void> {
  const budget = new CelBudget(RUNTIME_BUDGET);
  const warn = (): void => undefined;
  for (const { schema, path: at, isRoot } of schemasBelow(root)) {
    if (schema.default === undefined) continue;
    const tree = ruleTree(compileSchema(schema), isRoot);
    if (tree === undefined) continue;
    const run = { ratchets: false, path: `${at}.default`, budget, warn };
    const found = await evaluateRules(tree, schema.default, { ...run, old: { value: schema.default } });
    errors.list.push(
      ...(found.length > 0 ? found : await evaluateRules(tree, schema.default, { ...run, old: undefined })),
    );
    if (budget.left < 0) return;
  }
}
