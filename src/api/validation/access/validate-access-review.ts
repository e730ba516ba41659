/** Rules of the access reviews of authorization.k8s.io/v1 (upstream: authorization/validation). */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from '../../authorization/access-review.ts';
import type { LocalSubjectAccessReview } from '../../authorization/local-subject-access-review.ts';
import type { SelfSubjectAccessReviewSpec } from '../../authorization/self-subject-access-review.ts';
import type { ObjectMeta } from '../../core/meta.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkLabelKey } from '../names.ts';

export function validateSubjectAccessReview({
  metadata,
  spec,
}: {
  readonly metadata: ObjectMeta;
  readonly spec: SubjectAccessReviewSpec;
}): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  requireBare(errors, metadata, 'must be empty');
  return errors.list;
}

export function validateSelfSubjectAccessReview({
  metadata,
  spec,
}: {
  readonly metadata: ObjectMeta;
  readonly spec: SelfSubjectAccessReviewSpec;
}): FieldError[] {
  const errors = new FieldErrors();
  validateAttributes(errors, spec);
  requireBare(errors, metadata, 'must be empty');
  return errors.list;
}

export function validateLocalSubjectAccessReview({ metadata, spec }: LocalSubjectAccessReview): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  requireBare(errors, { ...metadata, namespace: '' }, 'must be empty except for namespace');
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && namespace !== metadata.namespace)
    errors.invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace');
  if (nonResourceAttributes !== undefined)
    errors.invalid('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request');
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: SubjectAccessReviewSpec): void {
  validateOneOfBoth(errors, spec);
  if (!spec.user && (spec.groups ?? []).length === 0)
    errors.invalid('spec.user', spec.user ?? '', 'at least one of user or group must be specified');
  validateResource(errors, spec.resourceAttributes);
}

function validateAttributes(errors: FieldErrors, spec: SelfSubjectAccessReviewSpec): void {
  validateOneOfBoth(errors, spec);
  validateResource(errors, spec.resourceAttributes);
}

function validateOneOfBoth(
  errors: FieldErrors,
  { resourceAttributes, nonResourceAttributes }: SelfSubjectAccessReviewSpec,
): void {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    errors.invalid(
      'spec.nonResourceAttributes',
      nonResourceAttributes,
      'cannot be specified in combination with resourceAttributes',
    );
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    errors.invalid(
      'spec.resourceAttributes',
      null,
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    );
  }
}

function validateResource(errors: FieldErrors, attributes: ResourceAttributes | undefined): void {
  validateSelector(errors, 'spec.resourceAttributes.fieldSelector', attributes?.fieldSelector);
  validateSelector(errors, 'spec.resourceAttributes.labelSelector', attributes?.labelSelector);
}

function validateSelector(
  errors: FieldErrors,
  path: string,
  selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined,
): void {
  if (selector === undefined) return;
  const { rawSelector = '', requirements = [] } = selector;
  if (rawSelector !== '' && requirements.length > 0)
    errors.invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements');
  if (rawSelector === '' && requirements.length === 0)
    errors.required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`);
  for (const [index, { key, operator, values = [] }] of requirements.entries()) {
    const at = `${path}.requirements[${index}]`;
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
      errors.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
      errors.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    if (path.endsWith('labelSelector')) errors.invalidEach(`${at}.key`, key, checkLabelKey(key));
    else if (key === '') errors.required(`${at}.key`, 'must be specified');
  }
}

function requireBare(errors: FieldErrors, { managedFields: _, ...metadata }: ObjectMeta, message: string): void {
  const isSaid = Object.values(metadata).some((value) => value !== '' && !semanticEqual(value, undefined));
  if (isSaid) errors.invalid('metadata', metadata, message);
}
