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
import { validateLabelSelector } from '../metadata.ts';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from '../names.ts';

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Where a pod may run. The agent checks it too: it admits by node affinity and tolerations itself. */
export function validateAffinity(errors: FieldErrors, path: string, affinity: Affinity | undefined): void {
  const node = affinity?.nodeAffinity;
  if (node?.[required] !== undefined) validateNodeSelector(errors, `${path}.nodeAffinity.${required}`, node[required]);
  for (const [index, term] of (node?.[preferred] ?? []).entries()) {
    const at = `${path}.nodeAffinity.${preferred}[${index}]`;
    validateWeight(errors, `${at}.weight`, term.weight);
    validateTerm(errors, `${at}.preference`, term.preference, false);
  }
  if (affinity?.podAffinity !== undefined) validatePodTerms(errors, `${path}.podAffinity`, affinity.podAffinity);
  if (affinity?.podAntiAffinity !== undefined)
    validatePodTerms(errors, `${path}.podAntiAffinity`, affinity.podAntiAffinity);
}

function validateWeight(errors: FieldErrors, field: string, weight: number): void {
  if (weight <= 0 || weight > 100) errors.invalid(field, weight, 'must be in the range 1-100');
}

export function validateNodeSelector(errors: FieldErrors, path: string, selector: NodeSelector): void {
  const field = `${path}.nodeSelectorTerms`;
  if (selector.nodeSelectorTerms.length === 0)
    return errors.required(field, 'must have at least one node selector term');
  for (const [index, term] of selector.nodeSelectorTerms.entries())
    validateTerm(errors, `${field}[${index}]`, term, true);
}

/** Preferred terms may carry odd label values, for old objects' sake. */
function validateTerm(errors: FieldErrors, path: string, term: NodeSelectorTerm, checkValues: boolean): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries())
    validateNodeRequirement(errors, `${path}.matchExpressions[${index}]`, requirement, checkValues);
  for (const [index, requirement] of (term.matchFields ?? []).entries())
    validateFieldRequirement(errors, `${path}.matchFields[${index}]`, requirement);
}

function validateNodeRequirement(
  errors: FieldErrors,
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  checkValues: boolean,
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
      // Decoding lets any text through; this is where it is refused.
      errors.invalid(`${path}.operator`, operator, 'not a valid selector operator');
  }
  errors.invalidEach(`${path}.key`, key, checkLabelKey(key));
  if (checkValues)
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

function validatePodTerms(errors: FieldErrors, path: string, affinity: PodAffinity | PodAntiAffinity): void {
  for (const [index, term] of (affinity[required] ?? []).entries())
    validatePodTerm(errors, `${path}.${required}[${index}]`, term);
  for (const [index, weighted] of (affinity[preferred] ?? []).entries()) {
    const at = `${path}.${preferred}[${index}]`;
    validateWeight(errors, `${at}.weight`, weighted.weight);
    validatePodTerm(errors, `${at}.podAffinityTerm`, weighted.podAffinityTerm);
  }
}

function validatePodTerm(errors: FieldErrors, path: string, term: PodAffinityTerm): void {
  validateLabelSelector(errors, `${path}.labelSelector`, term.labelSelector);
  validateLabelSelector(errors, `${path}.namespaceSelector`, term.namespaceSelector);
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
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = matchLabelKeys.lastIndexOf(key);
    if (index !== -1 && selected.has(key))
      errors.invalid(`${path}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector');
    selected.add(key);
  }
  for (const [index, key] of matchLabelKeys.entries()) {
    if (mismatchLabelKeys.includes(key))
      errors.invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  }
}

export function validateTolerations(errors: FieldErrors, path: string, tolerations: readonly Toleration[]): void {
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
    validateTolerationValue(errors, `${at}.operator`, operator, toleration.value ?? '');
    if (effect !== '') errors.oneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  }
}

function validateTolerationValue(errors: FieldErrors, field: string, operator: string, value: string): void {
  if (operator === 'Equal' || operator === '') {
    const complaints = checkLabelValue(value);
    if (complaints.length > 0) errors.invalid(field, value, complaints.join(';'));
  } else if (operator === 'Exists') {
    if (value !== '') errors.invalid(field, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator === 'Lt' || operator === 'Gt') {
    // The comparing operators are behind an alpha gate; upstream lists them all the same.
    errors.notSupported(field, operator, ['Equal', 'Exists', 'Lt', 'Gt']);
  } else errors.notSupported(field, operator, ['Equal', 'Exists']);
}

export function validateTopologySpread(
  errors: FieldErrors,
  path: string,
  constraints: readonly TopologySpreadConstraint[],
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
    validateLabelSelector(errors, `${at}.labelSelector`, constraint.labelSelector);
  }
}
