import { checkLabelKey } from './names.ts';
import type { FieldErrors } from './field-error.ts';

/** Resource names of limit ranges and quotas (upstream: apis/core/helper and core/validation). */

const compute = ['cpu', 'memory', 'ephemeral-storage'];
const countedObjects = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const quotaNames: ReadonlySet<string> = new Set([
  ...compute,
  ...compute.map((name) => `requests.${name}`),
  ...compute.map((name) => `limits.${name}`),
  'requests.storage',
  ...countedObjects,
]);
const HUGE_PAGES = 'hugepages-';

const isQualified = (name: string): boolean => name.includes('/');
const isNative = (name: string): boolean => !isQualified(name) || name.includes('kubernetes.io/');

const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith(`requests.${HUGE_PAGES}`);
export const isQuotaName = (name: string): boolean => quotaNames.has(name) || isQuotaHugePages(name);
/** Whether limits may be greater than requests. */
export const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePages(name);
/** Whether the name has a domain outside of Kubernetes. */
export const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && checkLabelKey(`requests.${name}`).length === 0;
/** Whether the resource has no fractions. */
export const isCounted = (name: string): boolean => countedObjects.includes(name) || isExtended(name);

function validateResourceName(errors: FieldErrors, field: string, name: string): void {
  const complaints = checkLabelKey(name);
  if (complaints.length > 0) errors.invalidEach(field, name, complaints);
  else if (!isQualified(name) && !isQuotaName(name) && name !== 'storage')
    errors.invalid(field, name, 'must be a standard resource type or fully qualified');
}

export function validateQuotaName(errors: FieldErrors, field: string, name: string): void {
  validateResourceName(errors, field, name);
  if (!isQualified(name) && !isQuotaName(name)) errors.invalid(field, name, 'must be a standard resource for quota');
}

/** Checks a name in limits of pods and containers. */
function validateContainerName(errors: FieldErrors, field: string, name: string): void {
  validateResourceName(errors, field, name);
  if (!isQualified(name)) {
    if (!compute.includes(name) && !isHugePages(name))
      errors.invalid(field, name, 'must be a standard resource for containers');
  } else if (!isNative(name) && !isExtended(name))
    errors.invalid(field, name, "doesn't follow extended resource name standard");
}

export function validateLimitName(errors: FieldErrors, field: string, name: string, limitType: string): void {
  if (limitType === 'Pod' || limitType === 'Container') validateContainerName(errors, field, name);
  else validateResourceName(errors, field, name);
}
