import { ownValue } from '../../../base/lookup.ts';
import type { ResourceClaim, ResourceList, ResourceRequirements } from '../../core/resource-requirements.ts';
import { compareQuantities, formatQuantity, parseQuantity } from '../../quantity.ts';
import { isHugePageResource, isPodLevelResource } from '../../resources.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkDnsLabel, checkLabelKey } from '../names.ts';

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage']);
const standardResources = new Set([
  ...[
    'cpu',
    'memory',
    'ephemeral-storage',
    'requests.cpu',
    'requests.memory',
    'requests.ephemeral-storage',
    'limits.cpu',
    'limits.memory',
    'limits.ephemeral-storage',
  ],
  ...[
    'pods',
    'services',
    'replicationcontrollers',
    'resourcequotas',
    'secrets',
    'configmaps',
    'persistentvolumeclaims',
    'storage',
    'requests.storage',
  ],
  ...['services.nodeports', 'services.loadbalancers'],
]);
const countedResources = new Set([
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);

/** Whether the resource belongs to Kubernetes: without a domain, or below kubernetes.io. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && checkLabelKey(`requests.${name}`).length === 0;
}

/** Whether the limit may be higher than the request. */
function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePageResource(name);
}

function validateResourceName(errors: FieldErrors, field: string, name: string): boolean {
  const complaints = checkLabelKey(name);
  errors.invalidEach(field, name, complaints);
  if (complaints.length > 0) return false;
  if (name.includes('/') || standardResources.has(name) || isHugePageResource(name)) return true;
  errors.invalid(field, name, 'must be a standard resource type or fully qualified');
  return false;
}

function validateContainerResourceName(errors: FieldErrors, field: string, name: string): void {
  validateResourceName(errors, field, name);
  if (!name.includes('/')) {
    if (!containerResources.has(name) && !isHugePageResource(name))
      errors.invalid(field, name, 'must be a standard resource for containers');
  } else if (!isNative(name) && !isExtended(name))
    errors.invalid(field, name, "doesn't follow extended resource name standard");
}

function validatePodResourceName(errors: FieldErrors, field: string, name: string): void {
  if (validateResourceName(errors, field, name) && !isPodLevelResource(name))
    errors.notSupported(field, name, ['cpu', 'hugepages-', 'memory']);
}

function validateAmount(errors: FieldErrors, field: string, { name, amount }: { name: string; amount: string }): void {
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) errors.invalid(field, amount, 'must be greater than or equal to 0');
  if ((countedResources.has(name) || isExtended(name)) && nanos % 1_000_000_000n !== 0n)
    errors.invalid(field, amount, 'must be an integer');
}

function validateHugePages(
  errors: FieldErrors,
  field: string,
  { name, amount }: { name: string; amount: string },
  { anyHugePages = false }: ResourceScope,
): void {
  if (anyHugePages || !isHugePageResource(name) || isWholePages(name, amount)) return;
  errors.invalid(field, amount, `${amount} is not positive integer multiple of ${name}`);
}

/** Whether an amount is not a multiple of the huge page size (upstream: usesIndivisibleHugePagesValues). */
export function hasBrokenPages(list: ResourceList | undefined): boolean {
  return Object.entries(list ?? {}).some(([name, amount]) => isHugePageResource(name) && !isWholePages(name, amount));
}

function isWholePages(name: string, amount: string): boolean {
  try {
    const page = parseQuantity(name.slice('hugepages-'.length)).nanos;
    return page > 0n && page % 1_000_000_000n === 0n && parseQuantity(amount).nanos % page === 0n;
  } catch {
    return false;
  }
}

export interface ResourceScope {
  /** The owner of the resources; pods may have fewer kinds of them. */
  readonly level: 'container' | 'pod';
  /** The names in `spec.resourceClaims`. */
  readonly claimNames: ReadonlySet<string>;
  /** Huge pages need not be whole, as in objects that older versions accepted. */
  readonly anyHugePages?: boolean;
}

/** Validates requests, limits and claims (upstream: validateResourceRequirements). */
export function validateResourceRequirements(
  errors: FieldErrors,
  path: string,
  resources: ResourceRequirements,
  scope: ResourceScope,
): void {
  const limits = resources.limits ?? {};
  const requests = resources.requests ?? {};
  validateList(errors, `${path}.limits`, limits, scope);
  for (const [name, amount] of Object.entries(requests)) {
    const field = `${path}.requests[${name}]`;
    validateEntry(errors, field, { name, amount }, scope);
    validateAgainstLimit(errors, path, { name, amount, limit: ownValue(limits, name) });
    validateHugePages(errors, field, { name, amount }, scope);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const hasCompute = names.includes('cpu') || names.includes('memory');
  if (!hasCompute && names.some(isHugePageResource)) errors.forbidden(path, 'HugePages require cpu or memory');
  validateClaims(errors, `${path}.claims`, resources.claims ?? [], scope.claimNames);
}

function validateList(errors: FieldErrors, path: string, list: ResourceList, scope: ResourceScope): void {
  for (const [name, amount] of Object.entries(list)) {
    const field = `${path}[${name}]`;
    validateEntry(errors, field, { name, amount }, scope);
    validateHugePages(errors, field, { name, amount }, scope);
  }
}

function validateEntry(
  errors: FieldErrors,
  field: string,
  entry: { name: string; amount: string },
  scope: ResourceScope,
): void {
  if (scope.level === 'pod') validatePodResourceName(errors, field, entry.name);
  else validateContainerResourceName(errors, field, entry.name);
  validateAmount(errors, field, entry);
}

function validateAgainstLimit(
  errors: FieldErrors,
  path: string,
  { name, amount, limit }: { name: string; amount: string; limit: string | undefined },
): void {
  if (limit === undefined) {
    if (!mayOvercommit(name)) errors.required(`${path}.limits`, 'Limit must be set for non overcommitable resources');
    return;
  }
  const order = compareQuantities(amount, limit);
  const shown = formatQuantity(parseQuantity(limit));
  if (order !== 0 && !mayOvercommit(name))
    errors.invalid(`${path}.requests`, amount, `must be equal to ${name} limit of ${shown}`);
  else if (order > 0)
    errors.invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${shown}`);
}

function validateClaims(
  errors: FieldErrors,
  path: string,
  claims: readonly ResourceClaim[],
  podClaims: ReadonlySet<string>,
): void {
  const seen: SeenClaims = { uses: new Set(), inParts: new Map() };
  const known = podClaims.size === 0 ? ' which is empty' : `: ${[...podClaims].sort().join(', ')}`;
  for (const [index, claim] of claims.entries()) {
    const field = `${path}[${index}]`;
    if (claim.name === '') {
      errors.required(field);
      continue;
    }
    if (seen.uses.has(claim.name)) errors.duplicate(field, claim.name);
    else addClaim(errors, field, { claim, seen });
    if (podClaims.has(claim.name)) continue;
    errors.notFound(field, claim.name, `must be one of the names in pod.spec.resourceClaims${known}`);
  }
}

interface SeenClaims {
  /** The used claims, and claims with requests. */
  readonly uses: Set<string>;
  /** The number of requests that are used of each claim. */
  readonly inParts: Map<string, number>;
}

/** A claim may be used either as a whole or by requests. */
function addClaim(
  errors: FieldErrors,
  field: string,
  { claim, seen: { uses, inParts } }: { claim: ResourceClaim; seen: SeenClaims },
): void {
  if (claim.request) errors.invalidEach(`${field}.request`, claim.request, checkDnsLabel(claim.request));
  const key = claim.request ? `${claim.name}/${claim.request}` : claim.name;
  if (uses.has(key)) errors.duplicate(field, key);
  else if (claim.request) inParts.set(claim.name, (inParts.get(claim.name) ?? 0) + 1);
  else for (let part = inParts.get(claim.name) ?? 0; part > 0; part--) errors.duplicate(field, claim.name);
  uses.add(key);
}
