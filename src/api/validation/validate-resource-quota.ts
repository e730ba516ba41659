import { lookupTable } from '../../base/lookup.ts';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../core/resource-quota.ts';
import type { ResourceList } from '../core/resource-requirements.ts';
import { parseQuantity } from '../quantity.ts';
import { FieldErrors, MOST_ERRORS } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { IMMUTABLE_MESSAGE } from './immutable.ts';
import { isCounted, isQuotaName, validateQuotaName } from './resource-names.ts';

const podCompute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const ofPods = ['pods', ...podCompute];
const ofClaims = ['persistentvolumeclaims', 'requests.storage'];
/** The resources that each scope may be used with. */
const scopes: Readonly<Record<string, readonly string[]>> = lookupTable({
  Terminating: ofPods,
  NotTerminating: ofPods,
  NotBestEffort: ofPods,
  PriorityClass: ofPods,
  CrossNamespacePodAffinity: ofPods,
  BestEffort: ['pods'],
  VolumeAttributesClass: ofClaims,
});
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['NotTerminating', 'Terminating'],
] as const;
const existsOnly = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];

/** Validates a defaulted quota, except its metadata (upstream: core/validation ValidateResourceQuota). */
export function validateResourceQuota({ spec, status }: ResourceQuota): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  validateAmounts(errors, 'status.hard', status?.hard);
  validateAmounts(errors, 'status.used', status?.used);
  return errors.list;
}

export function validateResourceQuotaUpdate({ spec }: ResourceQuota, old: ResourceQuota): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  const [now, before] = [new Set<string>(spec.scopes), new Set<string>(old.spec.scopes)];
  if (now.symmetricDifference(before).size > 0) errors.invalid('spec.scopes', spec.scopes ?? null, IMMUTABLE_MESSAGE);
  return errors.list;
}

export function validateResourceQuotaStatus({ metadata, status }: ResourceQuota): FieldError[] {
  const errors = new FieldErrors();
  if (!metadata.resourceVersion) errors.required('resourceVersion');
  validateAmounts(errors, 'status.hard', status?.hard);
  validateAmounts(errors, 'status.used', status?.used);
  return errors.list;
}

function validateAmounts(errors: FieldErrors, path: string, list: ResourceList | undefined): void {
  for (const [name, amount] of Object.entries(list ?? {})) {
    const field = `${path}[${name}]`;
    validateQuotaName(errors, field, name);
    const { nanos } = parseQuantity(amount);
    if (nanos < 0n) errors.invalid(field, amount, 'must be greater than or equal to 0');
    if (isCounted(name) && nanos % 1_000_000_000n !== 0n) errors.invalid(field, amount, 'must be an integer');
  }
}

function validateSpec(errors: FieldErrors, spec: ResourceQuotaSpec): void {
  validateAmounts(errors, 'spec.hard', spec.hard);
  const names = Object.keys(spec.hard ?? {}).filter(isQuotaName);
  const given = spec.scopes ?? [];
  const unfit = unfitFor(names);
  for (const scope of given) {
    if (scopes[scope] === undefined) errors.invalid('spec.scopes', given, 'unsupported scope');
    for (const _ of unfit(scope)) errors.invalid('spec.scopes', given, 'unsupported scope applied to resource');
  }
  for (const pair of opposites)
    if (pair.every((scope) => given.includes(scope))) errors.invalid('spec.scopes', given, 'conflicting scopes');
  if (spec.scopeSelector !== undefined) validateSelector(errors, spec, names);
}

/**
 * The names that a scope does not apply to, computed once for each scope, and limited to the number of errors that are
 * reported.
 */
function unfitFor(names: readonly string[]): (scope: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (scope) => {
    let unfit = known.get(scope);
    if (unfit === undefined)
      known.set(scope, (unfit = names.filter((name) => scopes[scope]?.includes(name) === false).slice(0, MOST_ERRORS)));
    return unfit;
  };
}

function validateSelector(
  errors: FieldErrors,
  { scopeSelector, scopes: given }: ResourceQuotaSpec,
  names: readonly string[],
): void {
  const field = 'spec.scopeSelector.matchExpressions';
  const expressions = scopeSelector?.matchExpressions ?? [];
  const shown = {
    MatchExpressions: expressions.map((each) => ({
      ScopeName: each.scopeName,
      Operator: each.operator,
      Values: each.values ?? null,
    })),
  };
  const unfit = unfitFor(names);
  for (const { scopeName, operator, values = [] } of expressions) {
    if (scopes[scopeName] === undefined) errors.invalid(`${field}.scopeName`, scopeName, 'unsupported scope');
    for (const _ of unfit(scopeName)) errors.invalid(field, shown, 'unsupported scope applied to resource');
    if (existsOnly.includes(scopeName) && operator !== 'Exists') {
      errors.invalid(
        `${field}.operator`,
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      );
    }
    validateValues(errors, field, operator, values);
  }
  for (const pair of opposites)
    if (pair.every((scope) => expressions.some(({ scopeName }) => scopeName === scope)))
      errors.invalid(field, given ?? null, 'conflicting scopes');
}

function validateValues(
  errors: FieldErrors,
  field: string,
  operator: ScopedResourceSelectorRequirement['operator'],
  values: readonly string[],
): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.required(
          `${field}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        );
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        errors.invalid(
          `${field}.values`,
          values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        );
      break;
    default:
      // Decoding accepts any text, so the operator is checked here.
      errors.invalid(`${field}.operator`, operator, 'not a valid selector operator');
  }
}
