import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from '../../flowcontrol/flow-schema.ts';
import { standardFlowSchemas } from '../../flowcontrol/standard-objects.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../names.ts';

const MAX_PRECEDENCE = 10_000;
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const mandatory = new Map(
  standardFlowSchemas.filter(({ role }) => role === 'mandatory').map(({ name, spec }) => [name, spec]),
);

/** Validates a defaulted schema, except its metadata (upstream: flowcontrol/validation ValidateFlowSchema). */
export function validateFlowSchema(schema: FlowSchema): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec } = schema;
  validateSpec(errors, metadata.name, spec);
  const fixed = mandatory.get(metadata.name);
  if (fixed !== undefined && !semanticEqual(fixed, spec))
    errors.invalid('spec', spec, `spec of '${metadata.name}' must equal the fixed value`);
  errors.list.push(...validateFlowConditions(schema));
  return errors.list;
}

/** Checks the conditions of a FlowSchema or a priority level: each must have a type, and types must not repeat. */
export function validateFlowConditions({
  status,
}: {
  readonly status?: { readonly conditions?: readonly { readonly type?: string }[] };
}): FieldError[] {
  const errors = new FieldErrors();
  const types = new Set<string>();
  for (const [index, { type = '' }] of (status?.conditions ?? []).entries()) {
    const field = `status.conditions[${index}].type`;
    if (types.has(type)) errors.duplicate(field, type);
    types.add(type);
    if (type === '') errors.required(field);
  }
  return errors.list;
}

function validateSpec(errors: FieldErrors, name: string, spec: FlowSchemaSpec): void {
  const { matchingPrecedence: precedence, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const field = 'spec.matchingPrecedence';
  if (precedence <= 0) errors.invalid(field, precedence, 'must be a positive value');
  if (precedence > MAX_PRECEDENCE) errors.invalid(field, precedence, `must not be greater than ${MAX_PRECEDENCE}`);
  if (precedence === 1 && name !== 'exempt')
    errors.invalid(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod !== undefined && !['ByNamespace', 'ByUser'].includes(distinguisherMethod.type))
    // Upstream shows its internal type, whose field names start with a capital.
    errors.notSupported('spec.distinguisherMethod.type', { Type: distinguisherMethod.type }, ['ByNamespace', 'ByUser']);
  const level = priorityLevelConfiguration.name;
  if (level === '') errors.required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else errors.invalidEach('spec.priorityLevelConfiguration.name', level, checkDnsSubdomain(level));
  for (const [index, rule] of rules.entries()) validateRule(errors, `spec.rules[${index}]`, rule);
}

function validateRule(errors: FieldErrors, path: string, rule: PolicyRulesWithSubjects): void {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rule;
  if (subjects.length === 0) errors.required(`${path}.subjects`, 'subjects must contain at least one value');
  for (const [index, subject] of subjects.entries()) validateSubject(errors, `${path}.subjects[${index}]`, subject);
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    errors.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [index, each] of resourceRules.entries())
    validateResources(errors, `${path}.resourceRules[${index}]`, each);
  for (const [index, each] of nonResourceRules.entries())
    validatePaths(errors, `${path}.nonResourceRules[${index}]`, each);
}

const subjectFields = [
  ['User', 'user'],
  ['Group', 'group'],
  ['ServiceAccount', 'serviceAccount'],
] as const;

function validateSubject(errors: FieldErrors, path: string, subject: Subject): void {
  const own = subjectFields.find(([kind]) => kind === subject.kind);
  if (own === undefined) return errors.notSupported(`${path}.kind`, subject.kind, ['Group', 'ServiceAccount', 'User']);
  const [kind, field] = own;
  const value = subject[field];
  if (value === undefined) errors.required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`);
  else if ('namespace' in value) validateAccount(errors, `${path}.${field}`, value);
  else if (value.name === '') errors.required(`${path}.${field}.name`);
  for (const [otherKind, other] of subjectFields)
    if (otherKind !== kind && subject[other] !== undefined)
      errors.forbidden(`${path}.${other}`, `${other} is forbidden when subject kind is not '${otherKind}'`);
}

function validateAccount(errors: FieldErrors, path: string, { namespace, name }: ServiceAccountSubject): void {
  if (name === '') errors.required(`${path}.name`);
  else if (name !== '*') errors.invalidEach(`${path}.name`, name, checkDnsSubdomain(name));
  if (namespace === '') errors.required(`${path}.namespace`, 'must specify namespace for service account');
  else errors.invalidEach(`${path}.namespace`, namespace, checkDnsLabel(namespace));
}

function validateVerbs(errors: FieldErrors, path: string, given: readonly string[]): void {
  const field = `${path}.verbs`;
  if (given.length === 0) errors.required(field, 'verbs must contain at least one value');
  else if (given.includes('*')) validateWildcard(errors, field, given, 'verbs');
  else if (!given.every((verb) => verbs.includes(verb))) errors.notSupported(field, given, verbs);
}

function validateWildcard(errors: FieldErrors, field: string, given: readonly string[], what: string): void {
  if (given.length > 1 && given.includes('*'))
    errors.invalid(field, given, `if '*' is present, must not specify other ${what}`);
}

function validateResources(errors: FieldErrors, path: string, rule: ResourcePolicyRule): void {
  validateVerbs(errors, path, rule.verbs);
  for (const [field, given, one, many] of [
    ['apiGroups', rule.apiGroups, 'api group', 'api groups'],
    ['resources', rule.resources, 'resource', 'resources'],
  ] as const)
    if (given.length === 0) errors.required(`${path}.${field}`, `resource rules must supply at least one ${one}`);
    else validateWildcard(errors, `${path}.${field}`, given, many);
  const { namespaces = [], clusterScope = false } = rule;
  const field = `${path}.namespaces`;
  if (namespaces.length === 0 && !clusterScope)
    errors.required(field, 'resource rules that are not cluster scoped must supply at least one namespace');
  else if (namespaces.includes('*')) validateWildcard(errors, field, namespaces, 'namespaces');
  else
    for (const [index, namespace] of namespaces.entries())
      for (const complaint of checkDnsLabel(namespace))
        errors.invalid(
          `${field}[${index}]`,
          namespace,
          `each member of this list must be '*' or a DNS-1123 label; ${complaint}`,
        );
}

function validatePaths(errors: FieldErrors, path: string, rule: NonResourcePolicyRule): void {
  validateVerbs(errors, path, rule.verbs);
  const field = `${path}.nonResourceURLs`;
  const { nonResourceURLs: urls } = rule;
  if (urls.length === 0) errors.required(field, 'nonResourceURLs must contain at least one value');
  else if (urls.includes('*')) validateWildcard(errors, field, urls, 'non-resource URLs');
  else
    for (const [index, url] of urls.entries()) {
      const problem = pathProblem(url);
      if (problem !== undefined) errors.invalid(`${field}[${index}]`, url, problem);
    }
}

/** Upstream: ValidateNonResourceURLPath. */
function pathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path === '/') return undefined;
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  const wildcard = path.indexOf('*');
  return wildcard >= 0 && (wildcard !== path.length - 1 || !path.endsWith('/*'))
    ? 'wildcard can only do suffix matching'
    : undefined;
}
