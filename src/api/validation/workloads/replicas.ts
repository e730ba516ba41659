import type { PodTemplateSpec } from '../../core/pod-template.ts';
import type { FieldErrors } from '../field-error.ts';
import { validatePodTemplate } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';

/** Shared checks of controllers that keep pods running (upstream: apps/validation). */

export interface AlwaysRunning {
  readonly controller: 'ReplicaSet' | 'DaemonSet' | 'StatefulSet' | 'ReplicationController';
  readonly context: PodValidationContext;
  /**
   * The template as the controller completes it; undefined: its content is not checked. Absent: the template of the
   * object.
   */
  readonly checked?: PodTemplateSpec | undefined;
}

/** Validates a template of pods that always run. */
export function validateAlwaysRunningTemplate(
  errors: FieldErrors,
  template: PodTemplateSpec,
  { controller, context, ...more }: AlwaysRunning,
): void {
  const checked = 'checked' in more ? more.checked : template;
  if (checked !== undefined) validatePodTemplate(errors, 'spec.template', checked, context);
  if (template.spec.restartPolicy !== 'Always')
    errors.notSupported('spec.template.spec.restartPolicy', template.spec.restartPolicy ?? '', ['Always']);
  if (template.spec.activeDeadlineSeconds !== undefined)
    errors.forbidden(
      'spec.template.spec.activeDeadlineSeconds',
      `activeDeadlineSeconds in ${controller} is not Supported`,
    );
}

/** Checks that the counts of a status are not negative. */
export function validateCounts<Status extends object>(
  errors: FieldErrors,
  status: Status,
  fields: readonly (keyof Status & string)[],
): void {
  for (const field of fields) {
    const count = status[field];
    if (typeof count === 'number') errors.nonNegative(`status.${field}`, count);
  }
}

interface ReplicaCounts {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
}

/** Checks that no count exceeds the total; `part` is the count that only this kind has. */
export function validateShares<Part extends string>(
  errors: FieldErrors,
  status: ReplicaCounts & { readonly [Key in Part]?: number },
  part: Part,
): void {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const shares: readonly (readonly [string, number])[] = [
    [part, status[part] ?? 0],
    ['readyReplicas', readyReplicas],
    ['availableReplicas', availableReplicas],
  ];
  for (const [field, count] of shares)
    if (count > replicas) errors.invalid(`status.${field}`, count, 'cannot be greater than status.replicas');
  if (availableReplicas > readyReplicas)
    errors.invalid('status.availableReplicas', availableReplicas, 'cannot be greater than readyReplicas');
}

/** Checks the collision count: names of children depend on it, so it must not decrease. */
export function validateCollisions(errors: FieldErrors, count: number | undefined, old: number | undefined): void {
  if (old !== undefined && (count === undefined || count < old))
    errors.invalid('status.collisionCount', count ?? 0, 'cannot be decremented');
}
