import { isRecord } from '../../base/json-record.ts';
import type { FieldErrors } from '../validation/field-error.ts';
import { applySchemaDefaults } from './apply-schema-defaults.ts';
import type { JsonSchema } from './json-schema.ts';
import { prune } from './prune.ts';
import { compileSchema } from './schema-node.ts';
import { additionalOf, itemsOf } from './validate-structural.ts';
import { validateValue } from './validate-value.ts';

/** Defaults of all schemas of a definition, in values: each is checked by its own schema. */
const MOST_VALUES = 20_000;

/**
 * Defaults that their own schemas do not accept, or would prune (upstream: schema/defaulting ValidateDefaults). A
 * definition whose defaults are too large to be checked is refused.
 */
export function validateDefaults(errors: FieldErrors, schema: JsonSchema, path: string): void {
  visit(errors, schema, path, { left: MOST_VALUES });
}

function countValues(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((count: number, each) => count + countValues(each), 1);
  if (!isRecord(value)) return 1;
  return Object.values(value).reduce((count: number, each) => count + countValues(each), 1);
}

function visit(errors: FieldErrors, schema: JsonSchema, path: string, budget: { left: number }): void {
  if (schema.default !== undefined) {
    budget.left -= countValues(schema.default);
    if (budget.left < 0)
      return errors.forbidden(`${path}.default`, `the defaults have more than ${MOST_VALUES} values; shorten them`);
    checkDefault(errors, schema, path);
  }
  const items = itemsOf(schema);
  if (items !== undefined) visit(errors, items, `${path}.items`, budget);
  const additional = additionalOf(schema);
  if (additional !== undefined) visit(errors, additional, `${path}.additionalProperties`, budget);
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    visit(errors, property, `${path}.properties[${name}]`, budget);
}

function checkDefault(errors: FieldErrors, schema: JsonSchema, path: string): void {
  const { default: value, ...rest } = schema;
  const node = compileSchema(rest);
  if (isRecord(value)) {
    const dropped: string[] = [];
    const wrapped = { value };
    prune(wrapped, compileSchema({ type: 'object', properties: { value: rest } }), dropped);
    if (dropped.length > 0) errors.invalid(`${path}.default`, value, 'must not have unknown fields');
  }
  for (const problem of validateValue(applySchemaDefaults(value, node), node)) {
    const detail = problem.message.replace(/^(Invalid|Unsupported|Duplicate) value: /, '');
    const field = problem.field === '<nil>' ? '' : `.${problem.field}`;
    if (problem.type === 'Required value') errors.required(`${path}.default${field}`);
    else if (problem.type === 'Unsupported value' || problem.type === 'Invalid value')
      errors.invalidHidden(`${path}.default${field}`, detail);
    else errors.invalidHidden(`${path}.default${field}`, problem.message);
  }
}
