import { annotations } from '../../annotations.ts';
import type { Pod } from '../../core/pod.ts';
import type { FieldErrors } from '../field-error.ts';
import { INT32_MAX } from '../names.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { validateProfileTexts } from './security-context.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/**
 * Validates annotations with a meaning for the API (upstream: ValidatePodSpecificAnnotations). Paths begin with
 * `metadata`.
 */
export function validatePodAnnotations(errors: FieldErrors, pod: Pod, context: PodValidationContext): void {
  const given = pod.metadata.annotations ?? {};
  const mirror = given[annotations.configMirror];
  if (mirror !== undefined && !pod.spec.nodeName) {
    errors.invalid(
      `metadata.annotations[${annotations.configMirror}]`,
      mirror,
      'must set spec.nodeName if mirror pod annotation is set',
    );
  }
  if (hasBadDeletionCost(pod) && !context.hadBefore('deletionCost'))
    errors.invalid(`metadata.annotations[${DELETION_COST}]`, given[DELETION_COST], 'must be a 32bit integer');
  validateProfileTexts(errors, pod);
}

/** Upstream: GetDeletionCostFromPodAnnotations. */
export function hasBadDeletionCost({ metadata }: Pod): boolean {
  const cost = metadata.annotations?.[DELETION_COST];
  return cost !== undefined && !(/^(?:0|-?[1-9][0-9]*)$/.test(cost) && Math.abs(Number(cost)) <= INT32_MAX);
}
