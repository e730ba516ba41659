import type { LabelSelector } from '../../core/meta.ts';
import type { PodTemplateSpec } from '../../core/pod-template.ts';
import { matchesLabelSelector } from '../../selectors.ts';
import { FieldErrors } from '../field-error.ts';
import { hasInvalidLabelValue, validateAnnotations, validateLabels, validateLabelSelector } from '../metadata.ts';
import { podWarnings } from './pod-warnings.ts';
import type { ManifestWarning } from './pod-warnings.ts';
import { podOfTemplate } from './old-faults.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { matchProfileAnnotations } from './security-context.ts';
import { validatePodSpec } from './validate-pod.ts';

/**
 * Validates a defaulted pod template (upstream: core/validation ValidatePodTemplateSpec, whose paths have no
 * `metadata`).
 */
export function validatePodTemplate(
  errors: FieldErrors,
  path: string,
  template: PodTemplateSpec,
  context: PodValidationContext,
): void {
  const found = new FieldErrors();
  const pod = podOfTemplate(template);
  validateLabels(found, 'metadata.labels', template.metadata.labels);
  validateAnnotations(found, 'metadata.annotations', template.metadata.annotations);
  validatePodAnnotations(found, pod, context);
  validatePodSpec(found, pod, context);
  matchProfileAnnotations(found, pod);
  if ((template.spec.ephemeralContainers ?? []).length > 0)
    found.forbidden('spec.ephemeralContainers', 'ephemeral containers not allowed in pod template');
  for (const error of found.list)
    errors.list.push({
      ...error,
      field: error.field.startsWith('[') ? error.field : `${path}.${error.field.replace(/^metadata\./, '')}`,
    });
}

/** The template's own warnings, as `spec.template.spec.x: ...`. */
export function podTemplateWarnings(path: string, template: PodTemplateSpec): string[] {
  return podWarnings(podOfTemplate(template)).map(({ field, message, alone }: ManifestWarning) =>
    alone === true
      ? message
      : `${path}.${field}: ${message.replaceAll(/\bspec\.(?=(?:c|initC|ephemeralC)ontainers\[)/g, `${path}.spec.`)}`,
  );
}

export interface SelectorRules {
  /** A missing selector is an error (in upstream's DaemonSet, the error is that the template does not match). */
  readonly mandatory: boolean;
  /** The error for a selector that matches everything. */
  readonly empty: string;
  /** The error in addition to the faults of an invalid selector. Default: `invalid label selector`. */
  readonly broken?: string;
  /**
   * Any label value is allowed, as in objects that older versions accepted. Such a selector is not compared with the
   * template.
   */
  readonly anyValue?: boolean;
}

/**
 * Validates the selector of a controller, and that the labels of its template match it. Returns false if the template
 * need not be checked further.
 */
export function validateSelectorAndLabels(
  errors: FieldErrors,
  selector: LabelSelector,
  template: PodTemplateSpec,
  { mandatory, empty, broken: faulty = 'invalid label selector', anyValue = false }: SelectorRules,
): boolean {
  const field = 'spec.selector';
  // One that is not given is decoded as one without fields.
  const given = selector.matchLabels !== undefined || selector.matchExpressions !== undefined;
  if (!given && mandatory) errors.required(field);
  const before = errors.list.length;
  validateLabelSelector(errors, field, selector, { anyValue });
  const broken = errors.list.length > before || hasInvalidLabelValue(selector);
  const isEmpty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  if (given && mandatory && isEmpty) errors.invalid(field, selector, empty);
  if (broken && mandatory) {
    errors.invalid(field, selector, faulty);
    return false;
  }
  const mismatch = !given || (!isEmpty && !broken && !matchesLabelSelector(selector, template.metadata.labels ?? {}));
  if (mismatch)
    errors.invalid(
      'spec.template.metadata.labels',
      sorted(template.metadata.labels),
      '`selector` does not match template `labels`',
    );
  if (given && !mandatory && isEmpty) errors.invalid(field, selector, empty);
  return true;
}

/** Go prints maps sorted by key. */
export function sorted(labels: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> | null {
  return labels === undefined
    ? null
    : Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
}
