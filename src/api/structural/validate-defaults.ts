import { isRecord } from '../../base/json-record.ts';
import type { FieldErrors } from '../validation/field-error.ts';
import { validateEmbedded } from './embedded-resources.ts';
import type { JsonSchema } from './json-schema.ts';
import { prune } from './prune.ts';
import { compileSchema } from './schema-node.ts';
import { itemsOf } from './validate-structural.ts';
import { validateValue } from './validate-value.ts';

/** The limit for values in all defaults of a definition. Each default is checked by its own schema. */
const MOST_VALUES = 20_000;

/**
 * Defaults that their own schemas do not accept, or would prune (upstream: schema/defaulting ValidateDefaults). A
 * definition whose defaults are too large to be checked is refused.
 */
export function validateDefaults(errors: FieldErrors, schema: JsonSchema, path: string): void {
  visit(errors, schema, { path, insideMeta: false, isRoot: true }, { left: MOST_VALUES });
}

function countValues(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((count: number, each) => count + countValues(each), 1);
  if (!isRecord(value)) return 1;
  return Object.values(value).reduce((count: number, each) => count + countValues(each), 1);
}

/** The position of a schema. */
interface Place {
  readonly path: string;
  /** In the metadata, kind or apiVersion of an object. Fields that the schema does not list are allowed there. */
  readonly insideMeta: boolean;
  readonly isRoot: boolean;
}

const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

/** Defaults of map values are not checked, as in upstream. */
function visit(errors: FieldErrors, schema: JsonSchema, place: Place, budget: { left: number }): void {
  const { path, isRoot } = place;
  const isObject = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  const insideMeta = place.insideMeta && !isObject;
  if (schema.default !== undefined) {
    budget.left -= countValues(schema.default);
    if (budget.left < 0)
      return errors.forbidden(`${path}.default`, `the defaults have more than ${MOST_VALUES} values; shorten them`);
    checkDefault(errors, schema, { path, insideMeta, isRoot });
  }
  const items = itemsOf(schema);
  if (items !== undefined) visit(errors, items, { path: `${path}.items`, insideMeta, isRoot: false }, budget);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = insideMeta || (isObject && metaFields.has(name));
    visit(errors, property, { path: `${path}.properties[${name}]`, insideMeta: isMeta, isRoot: false }, budget);
  }
}

/** A default must be complete: other defaults are not applied to it. */
function checkDefault(errors: FieldErrors, schema: JsonSchema, { path, insideMeta }: Place): void {
  const { default: value, ...rest } = schema;
  const node = compileSchema(rest);
  if (isRecord(value) && !insideMeta) {
    const dropped: string[] = [];
    const wrapped = { value };
    prune(wrapped, compileSchema({ type: 'object', properties: { value: rest } }), dropped);
    if (dropped.length > 0) errors.invalid(`${path}.default`, value, 'must not have unknown fields');
  }
  const problems = insideMeta ? [] : validateEmbedded(value, node);
  for (const problem of problems.length > 0 ? problems : validateValue(value, node)) {
    const field = problem.field === '<nil>' ? '' : `.${problem.field.replace(/^\./, '')}`;
    errors.list.push({ ...problem, field: `${path}.default${field}` });
  }
}
