import type { ObjectSchema, Schema } from '../schema/schema.ts';

export interface NumberedField {
  readonly name: string;
  readonly schema: Schema;
  /** Whether a zero is a value, rather than Go's encoding of absence. */
  readonly keepsZero: boolean;
}

/** The meaning of each field number: a field, or a nested message whose fields JSON shows as those of the outer one. */
export type MessagePlan = ReadonlyMap<number, NumberedField | MessagePlan>;
type MessagePlanDraft = Map<number, NumberedField | MessagePlanDraft>;

const plans = new WeakMap<ObjectSchema['fields'], MessagePlan>();

/** How to read a message of this type. Undefined for a type without field numbers. */
export function planMessage({ fields }: ObjectSchema): MessagePlan | undefined {
  let plan = plans.get(fields);
  if (plan === undefined) plans.set(fields, (plan = planOf(fields)));
  return plan.size === 0 ? undefined : plan;
}

function planOf(fields: ObjectSchema['fields']): MessagePlan {
  const plan: MessagePlanDraft = new Map();
  for (const [name, { number, within = [], schema, keepsZero }] of Object.entries(fields))
    if (number !== undefined) innerPlan(plan, within).set(number, { name, schema, keepsZero });
  return plan;
}

function innerPlan(plan: MessagePlanDraft, within: readonly number[]): MessagePlanDraft {
  let inner = plan;
  for (const number of within) {
    const known = inner.get(number);
    const next: MessagePlanDraft = known instanceof Map ? known : new Map();
    inner.set(number, next);
    inner = next;
  }
  return inner;
}
