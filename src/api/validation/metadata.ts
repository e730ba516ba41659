import type { LabelSelector, ObjectMeta, OwnerReference } from '../core/meta.ts';
import { FieldErrors } from './field-error.ts';
import {
  byteLength,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelKey,
  checkLabelValue,
  checkNamePrefix,
  checkPathSegment,
} from './names.ts';
import type { Complaints } from './names.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;
type StringMap = Readonly<Record<string, string>>;

export interface MetaRules {
  /** Cluster-scoped. Default: namespaced. */
  readonly clusterScoped?: boolean;
  /** The check of the name. Default: a DNS subdomain. */
  readonly checkName?: (name: string) => Complaints;
}

/** Validates the metadata of any object (upstream: apimachinery objectmeta.go). */
export function validateObjectMeta(
  errors: FieldErrors,
  path: string,
  meta: ObjectMeta,
  { clusterScoped = false, checkName = checkDnsSubdomain }: MetaRules = {},
): void {
  if (meta.generateName)
    errors.invalidEach(`${path}.generateName`, meta.generateName, checkNamePrefix(meta.generateName, checkName));
  if (meta.name === '') errors.required(`${path}.name`, 'name or generateName is required');
  else errors.invalidEach(`${path}.name`, meta.name, checkName(meta.name));
  // Of a pod from a file it is as the file says, and names folders on the host.
  errors.invalidEach(`${path}.uid`, meta.uid, checkPathSegment(meta.uid));
  if (clusterScoped) {
    if (meta.namespace !== '') errors.forbidden(`${path}.namespace`, 'not allowed on this type');
  } else if (meta.namespace === '') errors.required(`${path}.namespace`);
  else errors.invalidEach(`${path}.namespace`, meta.namespace, checkDnsLabel(meta.namespace));
  errors.nonNegative(`${path}.generation`, meta.generation);
  validateLabels(errors, `${path}.labels`, meta.labels);
  validateAnnotations(errors, `${path}.annotations`, meta.annotations);
  validateOwners(errors, `${path}.ownerReferences`, meta.ownerReferences ?? []);
  validateFinalizers(errors, `${path}.finalizers`, meta.finalizers ?? []);
}

/** As in upstream, errors contain the key, and have the path of the map. */
export function validateLabels(errors: FieldErrors, path: string, labels: StringMap | undefined): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.invalidEach(path, key, checkLabelKey(key));
    errors.invalidEach(path, value, checkLabelValue(value));
  }
}

export function validateAnnotations(errors: FieldErrors, path: string, annotations: StringMap | undefined): void {
  for (const key of Object.keys(annotations ?? {})) errors.invalidEach(path, key, checkLabelKey(key.toLowerCase()));
  validateAnnotationSize(errors, path, annotations);
}

/** The size limit for all keys and values together (upstream: ValidateAnnotationsSize). */
export function validateAnnotationSize(errors: FieldErrors, path: string, annotations: StringMap | undefined): void {
  let total = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) total += byteLength(key) + byteLength(value);
  if (total > MAX_ANNOTATION_BYTES) errors.tooLong(path, MAX_ANNOTATION_BYTES);
}

function validateOwners(errors: FieldErrors, path: string, owners: readonly OwnerReference[]): void {
  let controller: string | undefined;
  for (const owner of owners) {
    validateOwner(errors, path, owner);
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = name;
    else
      errors.invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      );
  }
}

function validateOwner(errors: FieldErrors, path: string, owner: OwnerReference): void {
  const version = owner.apiVersion.split('/').at(-1) ?? '';
  if (version === '') errors.invalid(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty');
  if (owner.kind === '') errors.invalid(`${path}.kind`, owner.kind, 'must not be empty');
  if (owner.name === '') errors.invalid(`${path}.name`, owner.name, 'must not be empty');
  if (owner.uid === '') errors.invalid(`${path}.uid`, owner.uid, 'must not be empty');
  if (owner.apiVersion === 'v1' && owner.kind === 'Event')
    errors.invalid(path, owner, '/v1, Kind=Event is disallowed from being an owner');
}

function validateFinalizers(errors: FieldErrors, path: string, finalizers: readonly string[]): void {
  for (const finalizer of finalizers) errors.invalidEach(path, finalizer, checkLabelKey(finalizer));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set');
  }
}

const standardFinalizers: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

/**
 * Whether the finalizer has no domain although it is not a standard one (upstream: core/validation ValidateObjectMeta,
 * validateKubeFinalizerName).
 */
export function isNamelessFinalizer(finalizer: string): boolean {
  return !finalizer.includes('/') && !standardFinalizers.includes(finalizer);
}

export const NAMELESS_FINALIZER = 'name is neither a standard finalizer name nor is it fully qualified';

/**
 * `anyValue`: any value is allowed in expressions, as in objects that older versions accepted (upstream:
 * AllowInvalidLabelValueInSelector).
 */
export function validateLabelSelector(
  errors: FieldErrors,
  path: string,
  selector: LabelSelector | undefined,
  { anyValue = false }: { readonly anyValue?: boolean } = {},
): void {
  if (selector === undefined) return;
  validateLabels(errors, `${path}.matchLabels`, selector.matchLabels);
  for (const [index, expression] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    validateOperator(errors, at, expression);
    errors.invalidEach(`${at}.key`, expression.key, checkLabelKey(expression.key));
    if (!anyValue)
      for (const [position, value] of (expression.values ?? []).entries())
        errors.invalidEach(`${at}.values[${position}]`, value, checkLabelValue(value));
  }
}

/** Whether the selector has any error. */
export function isInvalidSelector(selector: LabelSelector | undefined): boolean {
  const errors = new FieldErrors();
  validateLabelSelector(errors, '', selector);
  return errors.list.length > 0;
}

/** Upstream: LabelSelectorHasInvalidLabelValue, which only checks expressions. */
export function hasInvalidLabelValue(selector: LabelSelector | undefined): boolean {
  return (selector?.matchExpressions ?? []).some(({ values = [] }) =>
    values.some((value) => checkLabelValue(value).length > 0),
  );
}

/** Whether the number of values fits the operator, for label selectors and node selectors. */
function validateOperator(
  errors: FieldErrors,
  path: string,
  { operator, values = [] }: { readonly operator: string; readonly values?: readonly string[] },
): void {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) errors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else errors.invalid(`${path}.operator`, operator, 'not a valid selector operator');
}
