/**
 * Rules of the admission policies of admissionregistration.k8s.io/v1 (upstream: admissionregistration/validation).
 * Objects are defaulted.
 */
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  Mutation,
} from '../../admissionregistration/mutating-admission-policy.ts';
import type {
  MatchResources,
  NamedRuleWithOperations,
  ParamKind,
  ParamRef,
  Variable,
} from '../../admissionregistration/policy-parts.ts';
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Validation,
} from '../../admissionregistration/validating-admission-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateLabelSelector, validateObjectMeta } from '../metadata.ts';
import { byteLength, checkDns1035Label, checkDnsSubdomain, checkLabelKey, checkPathSegment } from '../names.ts';
import type { CheckText } from './validate-match-conditions.ts';
import { validateMatchConditions } from './validate-match-conditions.ts';
import { validateRule } from './validate-webhooks.ts';

/**
 * Compiles the expressions of one policy, which this layer cannot do. Each variable is known to the expressions after
 * it.
 */
export interface PolicyChecks {
  readonly condition: CheckText;
  /** Also makes the variable known. */
  variable(variable: Variable): string | undefined;
  readonly validation: CheckText;
  readonly message: CheckText;
  readonly annotation: CheckText;
  readonly applyConfiguration: CheckText;
  readonly jsonPatch: CheckText;
}

const MOST_ANNOTATIONS = 20;
const LONGEST_ANNOTATION_BYTES = 5 * 1024;
const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

export function validateValidatingAdmissionPolicy(
  policy: ValidatingAdmissionPolicy,
  checks: PolicyChecks,
): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec } = policy;
  validateShared(errors, policy, checks);
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    errors.required('spec.validations', detail);
    errors.required('spec.auditAnnotations', detail);
  }
  for (const [index, validation] of validations.entries())
    validateValidation(errors, `spec.validations[${index}]`, validation, checks);
  validateAnnotations(errors, metadata.name, auditAnnotations, checks);
  return errors.list;
}

export function validateMutatingAdmissionPolicy(policy: MutatingAdmissionPolicy, checks: PolicyChecks): FieldError[] {
  const errors = new FieldErrors();
  const { matchConstraints, mutations = [], reinvocationPolicy } = policy.spec;
  validateShared(errors, policy, checks);
  validateOperations(errors, 'spec.matchConstraints', matchConstraints);
  if (mutations.length === 0) errors.required('spec.mutations', 'mutations must contain at least one item');
  for (const [index, mutation] of mutations.entries())
    validateMutation(errors, `spec.mutations[${index}]`, mutation, checks);
  if (reinvocationPolicy === undefined) errors.required('spec.reinvocationPolicy');
  else errors.oneOf('spec.reinvocationPolicy', reinvocationPolicy, ['IfNeeded', 'Never']);
  return errors.list;
}

export function validateValidatingPolicyBinding({ metadata, spec }: ValidatingAdmissionPolicyBinding): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateBinding(errors, spec);
  const { validationActions = [] } = spec;
  for (const [index, action] of validationActions.entries()) {
    const field = `spec.validationActions[${index}]`;
    errors.oneOf(field, action, ['Audit', 'Deny', 'Warn']);
    if (validationActions.indexOf(action) < index) errors.duplicate(field, action);
  }
  if (validationActions.includes('Deny') && validationActions.includes('Warn'))
    errors.invalid(
      'spec.validationActions',
      validationActions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  if (validationActions.length === 0)
    errors.required('spec.validationActions', 'at least one validation action is required');
  return errors.list;
}

export function validateMutatingPolicyBinding({ metadata, spec }: MutatingAdmissionPolicyBinding): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateBinding(errors, spec);
  validateOperations(errors, 'spec.matchResources', spec.matchResources);
  return errors.list;
}

/** Validates the status of a policy. */
export function validateAdmissionPolicyStatus({ status }: ValidatingAdmissionPolicy): FieldError[] {
  const errors = new FieldErrors();
  for (const [index, { fieldRef, warning }] of (status?.typeChecking?.expressionWarnings ?? []).entries()) {
    const path = `status.typeChecking.expressionWarnings[${index}]`;
    if (warning === '') errors.required(`${path}.warning`);
    if (fieldRef.trim() === '') errors.required(`${path}.fieldRef`);
  }
  return errors.list;
}

function validateShared(
  errors: FieldErrors,
  { metadata, spec }: ValidatingAdmissionPolicy | MutatingAdmissionPolicy,
  checks: PolicyChecks,
): void {
  const { failurePolicy, paramKind, matchConstraints, matchConditions = [], variables = [] } = spec;
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  if (failurePolicy === undefined) errors.required('spec.failurePolicy');
  else errors.oneOf('spec.failurePolicy', failurePolicy, ['Fail', 'Ignore']);
  if (paramKind !== undefined) validateParamKind(errors, 'spec.paramKind', paramKind);
  if (matchConstraints === undefined) errors.required('spec.matchConstraints');
  else {
    validateMatchResources(errors, 'spec.matchConstraints', matchConstraints);
    if ((matchConstraints.resourceRules ?? []).length === 0) errors.required('spec.matchConstraints.resourceRules');
  }
  validateMatchConditions(errors, 'spec.matchConditions', matchConditions, checks.condition);
  for (const [index, variable] of variables.entries())
    validateVariable(errors, `spec.variables[${index}]`, variable, checks);
}

function validateParamKind(errors: FieldErrors, path: string, { apiVersion = '', kind = '' }: ParamKind): void {
  const parts = apiVersion.split('/');
  const [group, version] = parts.length === 2 ? parts : ['', apiVersion];
  const field = `${path}.apiVersion`;
  if (apiVersion === '') errors.required(field);
  else if (parts.length > 2) errors.invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  else {
    const complaints = group === '' ? [] : checkDnsSubdomain(group ?? '');
    if (complaints.length > 0) errors.invalid(field, group, complaints.join(','));
    if (version === '') errors.invalid(field, apiVersion, 'version must be specified');
    else {
      const faults = checkDns1035Label(version ?? '');
      if (faults.length > 0) errors.invalid(field, version, faults.join(','));
    }
  }
  if (kind === '') return errors.required(`${path}.kind`);
  const complaints = checkDns1035Label(kind.toLowerCase());
  if (complaints.length > 0)
    errors.invalid(`${path}.kind`, kind, `may have mixed case, but should otherwise match: ${complaints.join(',')}`);
}

function validateMatchResources(errors: FieldErrors, path: string, match: MatchResources): void {
  const { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  if (matchPolicy === undefined) errors.required(`${path}.matchPolicy`);
  else errors.oneOf(`${path}.matchPolicy`, matchPolicy, ['Equivalent', 'Exact']);
  if (namespaceSelector === undefined) errors.required(`${path}.namespaceSelector`);
  else validateLabelSelector(errors, `${path}.namespaceSelector`, namespaceSelector);
  if (objectSelector === undefined) errors.required(`${path}.objectSelector`);
  else validateLabelSelector(errors, `${path}.objectSelector`, objectSelector);
  for (const [index, rule] of resourceRules.entries())
    validateNamedRule(errors, `${path}.resourceRules[${index}]`, rule);
  for (const [index, rule] of excludeResourceRules.entries())
    validateNamedRule(errors, `${path}.excludeResourceRules[${index}]`, rule);
}

function validateNamedRule(errors: FieldErrors, path: string, rule: NamedRuleWithOperations): void {
  const names = new Set<string>();
  for (const [index, name] of (rule.resourceNames ?? []).entries()) {
    const field = `${path}.resourceNames[${index}]`;
    errors.invalidEach(field, name, checkPathSegment(name));
    if (names.has(name)) errors.duplicate(field, name);
    names.add(name);
  }
  validateRule(errors, path, rule);
}

/** Policies that mutate apply only to creates and updates. */
function validateOperations(errors: FieldErrors, path: string, match: MatchResources | undefined): void {
  for (const { operations = [] } of match?.resourceRules ?? [])
    for (const operation of operations) errors.oneOf(`${path}.resourceRules.operations`, operation, mutatingOperations);
}

function validateVariable(errors: FieldErrors, path: string, variable: Variable, checks: PolicyChecks): void {
  const { name, expression } = variable;
  if (name.trim() === '') errors.required(`${path}.name`, 'name is not specified');
  else if (!identifier.test(name) || reserved.has(name))
    errors.invalid(`${path}.name`, name, 'must be a valid CEL identifier');
  if (expression.trim() === '') return errors.required(`${path}.expression`, 'expression is not specified');
  const fault = checks.variable(variable);
  if (fault !== undefined) errors.invalid(`${path}.expression`, expression, fault);
}

function validateText(errors: FieldErrors, field: string, expression: string, check: CheckText): void {
  const fault = check(expression);
  if (fault !== undefined) errors.invalid(field, expression, fault);
}

function validateValidation(errors: FieldErrors, path: string, validation: Validation, checks: PolicyChecks): void {
  const { expression, message = '', messageExpression = '', reason } = validation;
  if (expression.trim() === '') errors.required(`${path}.expression`, 'expression is not specified');
  else validateText(errors, `${path}.expression`, expression, checks.validation);
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified');
  else if (messageExpression !== '')
    validateText(errors, `${path}.messageExpression`, messageExpression, checks.message);
  if (message !== '' && message.trim() === '')
    errors.invalid(`${path}.message`, message, 'must be non-empty if specified');
  else if (/[\n\r]/.test(message.trim())) errors.invalid(`${path}.message`, message, 'must not contain line breaks');
  if (reason !== undefined) errors.oneOf(`${path}.reason`, reason, reasons);
}

function validateAnnotations(
  errors: FieldErrors,
  policy: string,
  annotations: readonly AuditAnnotation[],
  checks: PolicyChecks,
): void {
  const path = 'spec.auditAnnotations';
  if (annotations.length > MOST_ANNOTATIONS)
    return errors.invalid(path, annotations, `must not have more than ${MOST_ANNOTATIONS} auditAnnotations`);
  const keys = new Set<string>();
  for (const [index, { key, valueExpression }] of annotations.entries()) {
    const at = `${path}[${index}]`;
    if (policy === '') errors.invalid(`${at}.key`, key, 'requires metadata.name be non-empty');
    else errors.invalidEach(`${at}.key`, `${policy}/${key}`, checkLabelKey(`${policy}/${key}`));
    const text = valueExpression.trim();
    if (text === '') errors.required(`${at}.valueExpression`, 'valueExpression is not specified');
    else if (byteLength(text) > LONGEST_ANNOTATION_BYTES)
      errors.required(`${at}.valueExpression`, `must not exceed ${LONGEST_ANNOTATION_BYTES} bytes in length`);
    else validateText(errors, `${at}.valueExpression`, text, checks.annotation);
    if (keys.has(key)) errors.duplicate(`${at}.key`, key);
    keys.add(key);
  }
}

function validateMutation(errors: FieldErrors, path: string, mutation: Mutation, checks: PolicyChecks): void {
  const { patchType, applyConfiguration, jsonPatch } = mutation;
  const patchTypes: readonly string[] = ['ApplyConfiguration', 'JSONPatch'];
  errors.oneOf(`${path}.patchType`, patchType, patchTypes);
  if (!patchTypes.includes(patchType)) return;
  const [own, other, field, otherField, check] =
    patchType === 'JSONPatch'
      ? ([jsonPatch, applyConfiguration, 'jsonPatch', 'applyConfiguration', checks.jsonPatch] as const)
      : ([applyConfiguration, jsonPatch, 'applyConfiguration', 'jsonPatch', checks.applyConfiguration] as const);
  if (own === undefined) errors.required(`${path}.${field}`, `must be specified when patchType is ${patchType}`);
  else {
    const expression = (own.expression ?? '').trim();
    if (expression === '') errors.required(`${path}.${field}.expression`);
    else validateText(errors, `${path}.${field}.expression`, expression, check);
  }
  if (other !== undefined)
    errors.invalid(`${path}.${otherField}`, `{${otherField}}`, `must not be specified when patchType is ${patchType}`);
}

function validateBinding(
  errors: FieldErrors,
  {
    policyName = '',
    paramRef,
    matchResources,
  }: ValidatingAdmissionPolicyBinding['spec'] | MutatingAdmissionPolicyBinding['spec'],
): void {
  if (policyName === '') errors.required('spec.policyName');
  else errors.invalidEach('spec.policyName', policyName, checkDnsSubdomain(policyName));
  if (paramRef !== undefined) validateParamRef(errors, 'spec.paramRef', paramRef);
  if (matchResources !== undefined) validateMatchResources(errors, 'spec.matchResources', matchResources);
}

function validateParamRef(errors: FieldErrors, path: string, params: ParamRef): void {
  const { name = '', selector, parameterNotFoundAction } = params;
  const detail = 'name and selector are mutually exclusive';
  if (name !== '') {
    errors.invalidEach(`${path}.name`, name, checkPathSegment(name));
    if (selector !== undefined) errors.forbidden(`${path}.name`, detail);
  }
  if (selector !== undefined) {
    validateLabelSelector(errors, `${path}.selector`, selector);
    if (name !== '') errors.forbidden(`${path}.selector`, detail);
  } else if (name === '') errors.required(path, 'one of name or selector must be specified');
  if (parameterNotFoundAction === undefined) errors.required(`${path}.parameterNotFoundAction`);
  else errors.oneOf(`${path}.parameterNotFoundAction`, parameterNotFoundAction, ['Deny', 'Allow']);
}
