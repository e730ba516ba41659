import type { ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { opaque } from '../../api/schema/schema.ts';
import { fieldElement } from './path-element.ts';

/** Precomputed facts about a field. */
interface FieldPlan {
  readonly element: string;
  readonly schema: Schema;
  /**
   * Whether the field always exists, because the Go type holds it as a value and not by pointer. No manager owns such a
   * field itself, only its content. The OpenAPI v3 documents show this by `default: {}`, and for lists by `required`.
   */
  readonly alwaysThere: boolean;
}
type ObjectPlan = ReadonlyMap<string, FieldPlan>;

const valueFields = new Set(
  (
    'acceptedNames backend clientConfig conditions current daemonEndpoints deprecatedSource describedObject devices involvedObject jobTemplate kubeletEndpoint lastState limitResponse loadBalancer metadata metric names nodeInfo podAffinityTerm podSelector pool port preference ' +
    'priorityLevelConfiguration regarding resources roleRef scaleTargetRef source spec state status strategy target template updateStrategy user userInfo'
  ).split(' '),
);
/** Exceptions: fields of these names that are pointers. */
const pointerFields = new Set([
  'ContainerStatus.resources',
  'ContainerStatus.user',
  'CustomResourceSubresources.status',
  'NetworkPolicyPeer.podSelector',
  'PodSpec.resources',
  'PodStatus.resources',
  'ReplicationControllerSpec.template',
  'Subject.user',
  'WebhookConversion.clientConfig',
]);

const plans = new WeakMap<ObjectSchema, ObjectPlan>();

function planObject(schema: ObjectSchema): ObjectPlan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = new Map(
      Object.entries(schema.fields)
        // Managed fields have no owner, so comparing them would be wasted.
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
 * Returns the schema of a map's values. Without a schema it is any value, whose maps are owned entry by entry and whose
 * lists as a whole.
 */
export function valuesOf(schema: Schema): Schema {
  return schema.kind === 'map' ? schema.values : opaque;
}
