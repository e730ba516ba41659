import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
} from '../../resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../resource/resource-claim-template.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateAnnotations, validateLabels, validateObjectMeta } from '../metadata.ts';
import { checkDnsSubdomain } from '../names.ts';
import {
  validateDeviceConfiguration,
  validateDeviceToleration,
  validateFullyQualifiedName,
  validateItems,
  validateLabelName,
  validateSelectors,
  validateUnique,
} from './device-parts.ts';
import { RequestNames } from './request-names.ts';

const MAX_REQUESTS = 32;
const MAX_CONSTRAINTS = 32;
const MAX_CONFIGURATIONS = 32;
const MAX_ALTERNATIVES = 8;

/** Upstream: apis/resource/validation ValidateResourceClaim. */
export function validateResourceClaim({ metadata, spec }: ResourceClaim): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata);
  validateDeviceClaim(errors, 'spec.devices', spec.devices);
  return errors.list;
}

/** The spec is immutable, so the rest of it is not checked again. */
export function validateResourceClaimUpdate(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', claim.metadata);
  validateImmutable(errors, 'spec', claim.spec, old.spec);
  return errors.list;
}

export function validateResourceClaimTemplate({ metadata, spec }: ResourceClaimTemplate): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata);
  validateLabels(errors, 'spec.metadata.labels', spec.metadata.labels);
  validateAnnotations(errors, 'spec.metadata.annotations', spec.metadata.annotations);
  validateDeviceClaim(errors, 'spec.spec.devices', spec.spec.devices);
  return errors.list;
}

export function validateResourceClaimTemplateUpdate(
  template: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'spec', template.spec, old.spec);
  return errors.list;
}

function validateDeviceClaim(errors: FieldErrors, path: string, claim: DeviceClaim): void {
  const { requests = [], constraints = [], config = [] } = claim;
  const names = new RequestNames(claim);
  validateItems(errors, `${path}.requests`, requests, MAX_REQUESTS, (request, at) =>
    validateRequest(errors, at, request),
  );
  if (requests.length <= MAX_REQUESTS) validateUnique(errors, `${path}.requests`, requests, ({ name }) => name);
  validateItems(errors, `${path}.constraints`, constraints, MAX_CONSTRAINTS, (constraint, at) =>
    validateConstraint(errors, at, constraint, names),
  );
  validateItems(errors, `${path}.config`, config, MAX_CONFIGURATIONS, (each, at) => {
    names.validateReferences(errors, `${at}.requests`, each.requests ?? []);
    validateDeviceConfiguration(errors, at, each);
  });
}

const EXACTLY_ONE = 'exactly one of `exactly` or `firstAvailable` is required';

function validateRequest(errors: FieldErrors, path: string, request: DeviceRequest): void {
  const { name, exactly, firstAvailable = [] } = request;
  validateLabelName(errors, `${path}.name`, name);
  if (exactly === undefined && firstAvailable.length === 0) errors.required(path, EXACTLY_ONE);
  else if (exactly === undefined) {
    const at = `${path}.firstAvailable`;
    validateItems(errors, at, firstAvailable, MAX_ALTERNATIVES, (alternative, place) => {
      validateLabelName(errors, `${place}.name`, alternative.name);
      validateNeed(errors, place, alternative);
    });
    if (firstAvailable.length <= MAX_ALTERNATIVES)
      validateUnique(errors, at, firstAvailable, (alternative) => alternative.name);
  } else if (firstAvailable.length > 0) errors.invalid(path, null, `${EXACTLY_ONE}, but multiple fields are set`);
  else validateNeed(errors, `${path}.exactly`, exactly);
}

function validateNeed(errors: FieldErrors, path: string, need: ExactDeviceRequest | DeviceSubRequest): void {
  const { deviceClassName, count = 0 } = need;
  if (deviceClassName === '') errors.required(`${path}.deviceClassName`);
  else errors.invalidEach(`${path}.deviceClassName`, deviceClassName, checkDnsSubdomain(deviceClassName));
  validateSelectors(errors, `${path}.selectors`, need.selectors ?? []);
  if (need.allocationMode === 'All') {
    if (count !== 0) errors.invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (need.allocationMode === 'ExactCount') {
    if (count <= 0) errors.invalid(`${path}.count`, count, 'must be greater than zero');
  } else errors.notSupported(`${path}.allocationMode`, need.allocationMode ?? '', ['All', 'ExactCount']);
  for (const [index, toleration] of (need.tolerations ?? []).entries())
    validateDeviceToleration(errors, `${path}.tolerations[${index}]`, toleration);
}

function validateConstraint(
  errors: FieldErrors,
  path: string,
  { requests = [], matchAttribute, distinctAttribute }: DeviceConstraint,
  names: RequestNames,
): void {
  names.validateReferences(errors, `${path}.requests`, requests);
  if (matchAttribute !== undefined) validateFullyQualifiedName(errors, `${path}.matchAttribute`, matchAttribute);
  else if (distinctAttribute !== undefined)
    validateFullyQualifiedName(errors, `${path}.distinctAttribute`, distinctAttribute);
  // The end of the text is upstream's slip.
  else
    errors.required(
      path,
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    );
}
