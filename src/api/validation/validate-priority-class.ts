import { priorities } from '../annotations.ts';
import type { PriorityClass } from '../scheduling/priority-class.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateImmutable } from './immutable.ts';
import { validatePreemption } from './pod/pod-policies.ts';

const SYSTEM_PREFIX = 'system-';
const HIGHEST_USER_PRIORITY = 1_000_000_000;

/** The classes that every cluster has, with their values. */
const systemPriorityClasses: readonly { readonly name: string; readonly value: number }[] = [
  { name: priorities.nodeCriticalClass, value: priorities.systemCritical + 1000 },
  { name: priorities.clusterCriticalClass, value: priorities.systemCritical },
];

/** Validates a defaulted class, except its metadata (upstream: scheduling/validation ValidatePriorityClass). */
export function validatePriorityClass(priorityClass: PriorityClass): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, value, preemptionPolicy } = priorityClass;
  if (metadata.name.startsWith(SYSTEM_PREFIX)) {
    const wrong = misfit(priorityClass);
    if (wrong !== undefined)
      errors.forbidden(
        'metadata.name',
        `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${wrong}`,
      );
  } else if (value > HIGHEST_USER_PRIORITY)
    errors.forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`);
  validatePreemption(errors, 'preemptionPolicy', preemptionPolicy);
  return errors.list;
}

function misfit({ metadata: { name }, value, globalDefault = false }: PriorityClass): string | undefined {
  const known = systemPriorityClasses.find((each) => each.name === name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (known.value !== value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export function validatePriorityClassUpdate(priorityClass: PriorityClass, old: PriorityClass): FieldError[] {
  const errors = new FieldErrors();
  if (priorityClass.value !== old.value) errors.forbidden('value', 'may not be changed in an update.');
  validateImmutable(errors, 'preemptionPolicy', priorityClass.preemptionPolicy, old.preemptionPolicy);
  return errors.list;
}
