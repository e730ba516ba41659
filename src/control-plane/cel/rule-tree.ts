import type { ValidationRule } from '../../api/structural/json-schema.ts';
import type { JsonSchema } from '../../api/structural/json-schema.ts';
import { parsePath } from '../../api/structural/schema-at-path.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';
import type { CompiledRule } from './schema-rules.ts';
import { compileRule } from './schema-rules.ts';
import type { RuleSchema } from './schema-types.ts';

/** A rule at its position. It is compiled at its first use. */
export interface PlacedRule {
  readonly text: ValidationRule;
  /** The path for errors, with a leading dot; '' for the value itself. */
  readonly fieldPath: string;
  readonly compiled: () => CompiledRule;
}

/** The rules of a schema, and of the schemas below it that have some. */
export interface RuleTree {
  readonly node: SchemaNode;
  readonly rules: readonly PlacedRule[];
  readonly properties: ReadonlyMap<string, RuleTree>;
  readonly additional: RuleTree | undefined;
  readonly items: RuleTree | undefined;
}

/**
 * Returns the rules in a structural schema; undefined if there are none. `isRoot` means that the schema is that of a
 * whole object.
 */
export function ruleTree(node: SchemaNode, isRoot: boolean): RuleTree | undefined {
  const below = (child: SchemaNode | undefined): RuleTree | undefined => child && ruleTree(child, child.embedded);
  const properties = new Map<string, RuleTree>();
  for (const [name, child] of node.properties) {
    const tree = below(child);
    if (tree !== undefined) properties.set(name, tree);
  }
  const additional = typeof node.additional === 'object' ? below(node.additional) : undefined;
  const items = below(node.items);
  const rules = placedRules(node.json, isRoot);
  const isEmpty = rules.length === 0 && properties.size === 0 && additional === undefined && items === undefined;
  return isEmpty ? undefined : { node, rules, properties, additional, items };
}

/** The rules of one schema. */
export function placedRules(schema: JsonSchema, isRoot: boolean): readonly PlacedRule[] {
  return (schema['x-kubernetes-validations'] ?? []).map((text) => {
    let compiled: CompiledRule | undefined;
    return {
      text,
      fieldPath: errorPath(schema, text.fieldPath ?? ''),
      // In a structural schema, `items` is always a single schema.
      compiled: () => (compiled ??= compileRule(text, schema as RuleSchema, { isRoot })),
    };
  });
}

/** Formats a path as in errors: `.spec.labels[app]`. Its fields must exist in the schema. */
function errorPath(schema: JsonSchema, fieldPath: string): string {
  let current: JsonSchema | undefined = schema;
  let path = '';
  for (const step of parsePath(fieldPath) ?? []) {
    const properties: JsonSchema['properties'] = current?.properties;
    const additional: JsonSchema['additionalProperties'] = current?.additionalProperties;
    path += properties === undefined ? `[${step}]` : `.${step}`;
    current = properties?.[step] ?? (typeof additional === 'object' ? additional : undefined);
  }
  return path;
}
