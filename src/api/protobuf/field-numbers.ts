import type { Field, ObjectSchema, Schema } from '../schema/schema.ts';
import { ManagedFieldsEntrySchema } from '../core/meta.ts';
import { admissionregistrationNumbers } from './numbers-admissionregistration.ts';
import { appsNumbers } from './numbers-apps.ts';
import { authenticationNumbers } from './numbers-authentication.ts';
import { authorizationNumbers } from './numbers-authorization.ts';
import { autoscalingNumbers } from './numbers-autoscaling.ts';
import { batchNumbers } from './numbers-batch.ts';
import { certificatesNumbers } from './numbers-certificates.ts';
import { coordinationNumbers } from './numbers-coordination.ts';
import { coreNumbers } from './numbers-core.ts';
import { discoveryNumbers } from './numbers-discovery.ts';
import { eventsNumbers } from './numbers-events.ts';
import { metaNumbers } from './numbers-meta.ts';
import { nodeNumbers } from './numbers-node.ts';
import { policyNumbers } from './numbers-policy.ts';
import { rbacNumbers } from './numbers-rbac.ts';
import { schedulingNumbers } from './numbers-scheduling.ts';
import { storageNumbers } from './numbers-storage.ts';

/**
 * Field numbers by group, then by message: `name:2` is a field, `?` one whose zero means something (a pointer in Go), `~` a time with microseconds, and
 * `+VolumeSource:2` a message whose fields stand in the JSON as if they were the outer one's.
 */
type Numbers = Readonly<Record<string, string>>;

const byGroup: Readonly<Record<string, Numbers>> = {
  '': coreNumbers,
  'admissionregistration.k8s.io': admissionregistrationNumbers,
  apps: appsNumbers,
  'authentication.k8s.io': authenticationNumbers,
  'authorization.k8s.io': authorizationNumbers,
  autoscaling: autoscalingNumbers,
  batch: batchNumbers,
  'certificates.k8s.io': certificatesNumbers,
  'coordination.k8s.io': coordinationNumbers,
  'discovery.k8s.io': discoveryNumbers,
  'events.k8s.io': eventsNumbers,
  'node.k8s.io': nodeNumbers,
  policy: policyNumbers,
  'rbac.authorization.k8s.io': rbacNumbers,
  'scheduling.k8s.io': schedulingNumbers,
  'storage.k8s.io': storageNumbers,
};

export interface NumberedField {
  readonly name: string;
  readonly schema: Schema;
  /** Whether a zero is a value, rather than Go's way to say nothing. */
  readonly keepsZero: boolean;
  readonly micros: boolean;
}

/** What each number of a message means: a field, or a message whose fields are the outer one's. */
export type MessagePlan = ReadonlyMap<number, NumberedField | MessagePlan>;

const plans = new WeakMap<ObjectSchema, Map<string, MessagePlan>>();

/** The plan of a message of the group, or of those that groups share. Undefined for a type that has no numbers. */
export function messagePlan(schema: ObjectSchema, group: string): MessagePlan | undefined {
  let known = plans.get(schema);
  if (known === undefined) plans.set(schema, (known = new Map()));
  let plan = known.get(group);
  if (plan === undefined) {
    const numbers = numbersOf(schema.name, group);
    if (numbers === undefined) return undefined;
    plan = planOf(numbers, schema, group);
    known.set(group, plan);
  }
  return plan;
}

function numbersOf(name: string, group: string): string | undefined {
  for (const numbers of [byGroup[group] ?? {}, metaNumbers as Numbers, coreNumbers as Numbers])
    if (Object.hasOwn(numbers, name)) return numbers[name];
  return undefined;
}

function planOf(numbers: string, schema: ObjectSchema, group: string): MessagePlan {
  const plan = new Map<number, NumberedField | MessagePlan>();
  for (const entry of numbers.trim().split(/\s+/)) {
    const [, inline, name = '', number, keepsZero, micros] = /^(\+?)(\w+):(\d+)(\??)(~?)$/.exec(entry) ?? [];
    if (inline === '+') plan.set(Number(number), planOf(numbersOf(name, group) ?? '', schema, group));
    else {
      const field: Field | undefined = schema.fields[name];
      const own =
        name === 'managedFields' ? { kind: 'array' as const, items: ManagedFieldsEntrySchema } : field?.schema;
      if (own !== undefined)
        plan.set(Number(number), {
          name,
          schema: own,
          keepsZero: keepsZero === '?' || field?.required === true,
          micros: micros === '~',
        });
    }
  }
  return plan;
}
