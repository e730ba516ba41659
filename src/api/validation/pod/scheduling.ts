import type { LabelSelector } from '../../core/meta.ts';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodAntiAffinity,
  Toleration,
  TopologySpreadConstraint,
} from '../../core/scheduling.ts';
import type { FieldErrors } from '../field-error.ts';
import { isInvalidSelector, validateLabelSelector } from '../metadata.ts';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from '../names.ts';
import type { PodValidationContext } from './pod-validation-context.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Validates affinity. The agent needs this, too, because it admits pods by node affinity and tolerations. */
export function validateAffinity(
  errors: FieldErrors,
  path: string,
  affinity: Affinity | undefined,
  context: PodValidationContext,
): void {
  if (affinity === undefined) return;
  const node = affinity.nodeAffinity;
  if (node?.[REQUIRED] !== undefined)
    validateNodeSelector(errors, `${path}.nodeAffinity.${REQUIRED}`, node[REQUIRED], {
      anyValue: context.hadBefore('nodeAffinityValue'),
    });
  for (const [index, term] of (node?.[PREFERRED] ?? []).entries()) {
    const at = `${path}.nodeAffinity.${PREFERRED}[${index}]`;
    validateWeight(errors, `${at}.weight`, term.weight);
    // Upstream never checks the values of preferences.
    validateTerm(errors, `${at}.preference`, term.preference, { anyValue: true });
  }
  const options = { anyValue: context.hadBefore('labelValueInSelector') };
  if (affinity.podAffinity !== undefined)
    validatePodTerms(errors, `${path}.podAffinity`, affinity.podAffinity, options);
  if (affinity.podAntiAffinity !== undefined)
    validatePodTerms(errors, `${path}.podAntiAffinity`, affinity.podAntiAffinity, options);
}

interface ValueOptions {
  /** Any label value is allowed, as in objects that older versions accepted. */
  readonly anyValue?: boolean;
}

function validateWeight(errors: FieldErrors, field: string, weight: number): void {
  if (weight <= 0 || weight > 100) errors.invalid(field, weight, 'must be in the range 1-100');
}

export function validateNodeSelector(
  errors: FieldErrors,
  path: string,
  selector: NodeSelector,
  options: ValueOptions = {},
): void {
  const field = `${path}.nodeSelectorTerms`;
  if (selector.nodeSelectorTerms.length === 0)
    return errors.required(field, 'must have at least one node selector term');
  for (const [index, term] of selector.nodeSelectorTerms.entries())
    validateTerm(errors, `${field}[${index}]`, term, options);
}

/** Whether a label value of an expression is invalid (upstream: HasInvalidLabelValueInNodeSelectorTerms). */
export function hasInvalidNodeValue(selector: NodeSelector | undefined): boolean {
  return (selector?.nodeSelectorTerms ?? []).some(({ matchExpressions = [] }) =>
    matchExpressions.some(({ values = [] }) => values.some((value) => checkLabelValue(value).length > 0)),
  );
}

function validateTerm(errors: FieldErrors, path: string, term: NodeSelectorTerm, options: ValueOptions): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries())
    validateNodeRequirement(errors, `${path}.matchExpressions[${index}]`, requirement, options);
  for (const [index, requirement] of (term.matchFields ?? []).entries())
    validateFieldRequirement(errors, `${path}.matchFields[${index}]`, requirement);
}

function validateNodeRequirement(
  errors: FieldErrors,
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  { anyValue = false }: ValueOptions,
): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        errors.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        errors.required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      // Decoding accepts any text, so the operator is checked here.
      errors.invalid(`${path}.operator`, operator, 'not a valid selector operator');
  }
  errors.invalidEach(`${path}.key`, key, checkLabelKey(key));
  if (!anyValue)
    for (const [index, value] of values.entries())
      errors.invalidEach(`${path}.values[${index}]`, value, checkLabelValue(value));
}

function validateFieldRequirement(
  errors: FieldErrors,
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
): void {
  if (operator !== 'In' && operator !== 'NotIn')
    errors.invalid(`${path}.operator`, operator, 'not a valid selector operator');
  else if (values.length !== 1)
    errors.required(
      `${path}.values`,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  if (key !== 'metadata.name') return errors.invalid(`${path}.key`, key, 'not a valid field selector key');
  for (const [index, value] of values.entries())
    errors.invalidEach(`${path}.values[${index}]`, value, checkDnsSubdomain(value));
}

function validatePodTerms(
  errors: FieldErrors,
  path: string,
  affinity: PodAffinity | PodAntiAffinity,
  options: ValueOptions,
): void {
  for (const [index, term] of (affinity[REQUIRED] ?? []).entries())
    validatePodTerm(errors, `${path}.${REQUIRED}[${index}]`, term, options);
  for (const [index, weighted] of (affinity[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${index}]`;
    validateWeight(errors, `${at}.weight`, weighted.weight);
    validatePodTerm(errors, `${at}.podAffinityTerm`, weighted.podAffinityTerm, options);
  }
}

/** Whether a selector of a term is invalid (upstream: hasInvalidLabelValueInAffinitySelector). */
export function hasInvalidTermSelector(affinity: Affinity | undefined): boolean {
  const isInvalid = ({ labelSelector, namespaceSelector }: PodAffinityTerm): boolean =>
    isInvalidSelector(labelSelector) || isInvalidSelector(namespaceSelector);
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some(
    (each) =>
      (each?.[REQUIRED] ?? []).some(isInvalid) ||
      (each?.[PREFERRED] ?? []).some(({ podAffinityTerm }) => isInvalid(podAffinityTerm)),
  );
}

function validatePodTerm(errors: FieldErrors, path: string, term: PodAffinityTerm, options: ValueOptions): void {
  validateLabelSelector(errors, `${path}.labelSelector`, term.labelSelector, options);
  validateLabelSelector(errors, `${path}.namespaceSelector`, term.namespaceSelector, options);
  for (const namespace of term.namespaces ?? [])
    errors.invalidEach(`${path}.namespace`, namespace, checkDnsLabel(namespace));
  validateMatchKeys(errors, path, term);
  if (term.topologyKey === '') errors.required(`${path}.topologyKey`, 'can not be empty');
  errors.invalidEach(`${path}.topologyKey`, term.topologyKey, checkLabelKey(term.topologyKey));
}

interface MatchKeys {
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
  readonly labelSelector?: LabelSelector;
}

function validateMatchKeys(
  errors: FieldErrors,
  path: string,
  { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector }: MatchKeys,
): void {
  for (const [field, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (keys.length > 0 && labelSelector === undefined)
      errors.forbidden(`${path}.${field}`, 'must not be specified when labelSelector is not set');
    else
      for (const [index, key] of keys.entries())
        errors.invalidEach(`${path}.${field}[${index}]`, key, checkLabelKey(key));
  }
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  // Of a key that is there twice the last one counts.
  const indexes = new Map(matchLabelKeys.map((key, index) => [key, index]));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = indexes.get(key);
    if (index !== undefined && selected.has(key))
      errors.invalid(`${path}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector');
    selected.add(key);
  }
  const mismatches = new Set(mismatchLabelKeys);
  for (const [index, key] of matchLabelKeys.entries()) {
    if (mismatches.has(key))
      errors.invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  }
}

/**
 * `mayCompare`: operators of an alpha feature gate are allowed, as in objects that already have them (upstream:
 * AllowTaintTolerationComparisonOperators).
 */
export function validateTolerations(
  errors: FieldErrors,
  path: string,
  tolerations: readonly Toleration[],
  { mayCompare = false }: { readonly mayCompare?: boolean } = {},
): void {
  for (const [index, toleration] of tolerations.entries()) {
    const at = `${path}[${index}]`;
    const { key = '', effect = '' } = toleration;
    const operator: string = toleration.operator ?? '';
    if (key !== '') errors.invalidEach(`${at}.key`, key, checkLabelKey(key));
    else if (operator !== 'Exists')
      errors.invalid(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
      errors.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (mayCompare && comparingOperators.has(operator))
      validateComparedValue(errors, `${at}.value`, toleration.value ?? '');
    else validateTolerationValue(errors, `${at}.operator`, operator, toleration.value ?? '');
    if (effect !== '') errors.oneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  }
}

/** Operators of tolerations that need an alpha feature gate. */
const comparingOperators: ReadonlySet<string> = new Set(['Lt', 'Gt']);

/** Upstream: taintTolerationComparisonOperatorsInUse. */
export function hasComparingToleration(tolerations: readonly Toleration[]): boolean {
  return tolerations.some(({ operator = '' }) => comparingOperators.has(operator));
}

const longestInteger = '-9223372036854775808'.length;

function validateComparedValue(errors: FieldErrors, field: string, value: string): void {
  if (!/^(?:0|-?[1-9][0-9]*)$/.test(value))
    errors.invalid(field, value, 'must be a valid decimal integer in canonical form');
  else if (value.length > longestInteger || BigInt.asIntN(64, BigInt(value)) !== BigInt(value))
    errors.invalid(field, value, `strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
}

function validateTolerationValue(errors: FieldErrors, field: string, operator: string, value: string): void {
  if (operator === 'Equal' || operator === '') {
    const complaints = checkLabelValue(value);
    if (complaints.length > 0) errors.invalid(field, value, complaints.join(';'));
  } else if (operator === 'Exists') {
    if (value !== '') errors.invalid(field, value, "value must be empty when `operator` is 'Exists'");
  } else if (comparingOperators.has(operator)) {
    // Upstream lists them although their gate is off.
    errors.notSupported(field, operator, ['Equal', 'Exists', 'Lt', 'Gt']);
  } else errors.notSupported(field, operator, ['Equal', 'Exists']);
}

export function validateTopologySpread(
  errors: FieldErrors,
  path: string,
  constraints: readonly TopologySpreadConstraint[],
  context: PodValidationContext,
): void {
  const pairOf = (constraint: TopologySpreadConstraint): string =>
    JSON.stringify([constraint.topologyKey, constraint.whenUnsatisfiable]);
  const lastOf = new Map(constraints.map((constraint, index) => [pairOf(constraint), index]));
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains } = constraint;
    if (maxSkew <= 0) errors.invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero');
    if (topologyKey === '') errors.required(`${at}.topologyKey`, 'can not be empty');
    errors.oneOf(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    if (lastOf.get(pairOf(constraint)) !== index)
      errors.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    if (minDomains !== undefined && minDomains <= 0)
      errors.invalid(`${at}.minDomains`, minDomains, 'must be greater than zero');
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      errors.invalid(
        `${at}.minDomains`,
        minDomains,
        `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
      );
    }
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[field];
      if (policy !== undefined) errors.oneOf(`${at}.${field}`, policy, ['Honor', 'Ignore']);
    }
    validateMatchKeys(errors, at, constraint);
    if (!context.hadBefore('spreadSelector'))
      validateLabelSelector(errors, `${at}.labelSelector`, constraint.labelSelector);
  }
}

/** Upstream: hasInvalidTopologySpreadConstraintLabelSelector. */
export function hasInvalidSpreadSelector(constraints: readonly TopologySpreadConstraint[]): boolean {
  return constraints.some(({ labelSelector }) => isInvalidSelector(labelSelector));
}
