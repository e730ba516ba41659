import type { ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { opaque } from '../../api/schema/schema.ts';
import { fieldElement } from './path-element.ts';

/** Precomputed facts about a field. */
interface FieldPlan {
  readonly element: string;
  readonly schema: Schema;
  /**
   * Present even when it was not set, because the API's type holds it as a value and not by pointer: no manager owns
   * the field as such, only what is in it. Known for each field by `default: {}` in the OpenAPI v3 documents; for
   * lists, by being required.
   */
  readonly alwaysThere: boolean;
}
type ObjectPlan = ReadonlyMap<string, FieldPlan>;

const valueFields = new Set(
  (
    'acceptedNames clientConfig conditions daemonEndpoints deprecatedSource involvedObject jobTemplate kubeletEndpoint lastState loadBalancer metadata names nodeInfo podAffinityTerm preference ' +
    'regarding resources roleRef scaleTargetRef source spec state status strategy target template updateStrategy user userInfo'
  ).split(' '),
);
/** Exceptions: fields of these names that are pointers. */
const pointerFields = new Set([
  'ContainerStatus.resources',
  'ContainerStatus.user',
  'PodSpec.resources',
  'PodStatus.resources',
]);

const plans = new WeakMap<ObjectSchema, ObjectPlan>();

function planObject(schema: ObjectSchema): ObjectPlan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = new Map(
      Object.entries(schema.fields)
        // Managed fields have no owner themselves; comparing them would be wasted.
        .filter(([name]) => name !== 'managedFields')
        .map(([name, field]) => {
          const { kind } = field.schema;
          const byValue =
            kind === 'object' &&
            valueFields.has(name) &&
            !pointerFields.has(`${schema.name}.${name}`) &&
            (schema.custom === undefined || field.required);
          return [
            name,
            {
              element: fieldElement(name),
              schema: field.schema,
              alwaysThere: byValue || (kind === 'array' && field.required),
            },
          ];
        }),
    );
    plans.set(schema, plan);
  }
  return plan;
}

/** The facts about a field; undefined if the type has no field of that name. */
export function planField(schema: ObjectSchema, name: string): FieldPlan | undefined {
  const known = planObject(schema).get(name);
  if (known !== undefined || schema.custom?.rest === undefined || name === 'managedFields') return known;
  return { element: fieldElement(name), schema: schema.custom.rest, alwaysThere: false };
}

/**
 * The schema of a map's values; what has no schema is any value, whose maps are owned entry by entry and whose lists as
 * a whole.
 */
export function valuesOf(schema: Schema): Schema {
  return schema.kind === 'map' ? schema.values : opaque;
}
