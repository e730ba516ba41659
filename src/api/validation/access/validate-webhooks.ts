/**
 * Rules of the webhook configurations of admissionregistration.k8s.io/v1 (upstream: admissionregistration/validation).
 * Objects are defaulted.
 */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
} from '../../admissionregistration/mutating-webhook-configuration.ts';
import type {
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../../admissionregistration/validating-webhook-configuration.ts';
import type {
  RuleWithOperations,
  WebhookClientConfig,
  WebhookServiceReference,
} from '../../admissionregistration/webhook.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { isInvalidSelector, validateLabelSelector, validateObjectMeta } from '../metadata.ts';
import type { CheckText } from './validate-match-conditions.ts';
import { validateMatchConditions } from './validate-match-conditions.ts';
import { checkDns1035Label, checkDnsSubdomain, checkPortNumber } from '../names.ts';

const reviewVersions = ['v1', 'v1beta1'];
const hasKnownVersion = (versions: readonly string[]): boolean =>
  versions.some((version) => reviewVersions.includes(version));

type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;
type Webhook = MutatingWebhook | ValidatingWebhook;

/** `checkCondition` compiles expressions, which this layer cannot do. */
export function validateWebhookConfiguration(configuration: Configuration, checkCondition: CheckText): FieldError[] {
  return validate(configuration, { checkCondition, sideEffects: ['None', 'NoneOnDryRun'] });
}

/**
 * Faults that older versions accepted may stay (upstream: ValidateMutatingWebhookConfigurationUpdate and its sibling).
 */
export function validateWebhookConfigurationUpdate(
  configuration: Configuration,
  old: Configuration,
  checkCondition: CheckText,
): FieldError[] {
  const before: readonly Webhook[] = old.webhooks ?? [];
  const now: readonly Webhook[] = configuration.webhooks ?? [];
  const isQuiet = before.every(({ sideEffects }) => sideEffects === 'None' || sideEffects === 'NoneOnDryRun');
  return validate(configuration, {
    checkCondition,
    sideEffects: isQuiet ? ['None', 'NoneOnDryRun'] : ['None', 'NoneOnDryRun', 'Some', 'Unknown'],
    anyVersion: before.some(
      ({ admissionReviewVersions }) => admissionReviewVersions.length > 0 && !hasKnownVersion(admissionReviewVersions),
    ),
    repeatedNames: new Set(before.map(({ name }) => name)).size < before.length,
    anyValue: before.some(
      ({ namespaceSelector, objectSelector }) =>
        isInvalidSelector(namespaceSelector) || isInvalidSelector(objectSelector),
    ),
    sameConditions:
      before.length === now.length &&
      before.every(({ matchConditions = [] }, index) =>
        semanticEqual(matchConditions, now[index]?.matchConditions ?? []),
      ),
  });
}

/** By default as strict as for new configurations. */
interface Leniency {
  readonly checkCondition: CheckText;
  readonly sideEffects: readonly string[];
  /** The server need not support any of the versions of reviews. */
  readonly anyVersion?: boolean;
  readonly repeatedNames?: boolean;
  /** Any label value is allowed in selectors. */
  readonly anyValue?: boolean;
  /** The conditions have not changed. */
  readonly sameConditions?: boolean;
}

function validate({ metadata, webhooks = [] }: Configuration, leniency: Leniency): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const path = `webhooks[${index}]`;
    validateWebhook(errors, path, webhook, leniency);
    validateReviewVersions(errors, `${path}.admissionReviewVersions`, webhook.admissionReviewVersions, leniency);
    if (leniency.repeatedNames !== true && webhook.name !== '' && names.has(webhook.name))
      errors.duplicate(`${path}.name`, webhook.name);
    names.add(webhook.name);
  }
  return errors.list;
}

function validateWebhook(errors: FieldErrors, path: string, webhook: Webhook, leniency: Leniency): void {
  const { rules = [], failurePolicy, matchPolicy, sideEffects, timeoutSeconds, matchConditions = [] } = webhook;
  validateQualified(errors, `${path}.name`, webhook.name);
  for (const [index, rule] of rules.entries()) validateRule(errors, `${path}.rules[${index}]`, rule);
  if (failurePolicy !== undefined) errors.oneOf(`${path}.failurePolicy`, failurePolicy, ['Fail', 'Ignore']);
  if (matchPolicy !== undefined) errors.oneOf(`${path}.matchPolicy`, matchPolicy, ['Equivalent', 'Exact']);
  if (sideEffects === undefined)
    errors.required(`${path}.sideEffects`, `must specify one of ${leniency.sideEffects.join(', ')}`);
  else errors.oneOf(`${path}.sideEffects`, sideEffects, leniency.sideEffects);
  if (timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1))
    errors.invalid(`${path}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds');
  validateLabelSelector(errors, `${path}.namespaceSelector`, webhook.namespaceSelector, leniency);
  validateLabelSelector(errors, `${path}.objectSelector`, webhook.objectSelector, leniency);
  validateClient(errors, `${path}.clientConfig`, webhook.clientConfig);
  if (leniency.sameConditions !== true)
    validateMatchConditions(errors, `${path}.matchConditions`, matchConditions, leniency.checkCondition);
  const reinvocation = 'reinvocationPolicy' in webhook ? webhook.reinvocationPolicy : undefined;
  if (reinvocation !== undefined) errors.oneOf(`${path}.reinvocationPolicy`, reinvocation, ['IfNeeded', 'Never']);
}

export function validateQualified(errors: FieldErrors, field: string, name: string): void {
  if (name === '') return errors.required(field);
  const complaints = checkDnsSubdomain(name);
  if (complaints.length > 0) errors.invalid(field, name, complaints.join(','));
  else if (name.split('.').length < 3)
    errors.invalid(field, name, 'should be a domain with at least three segments separated by dots');
}

export function validateRule(
  errors: FieldErrors,
  path: string,
  { operations = [], apiGroups = [], apiVersions = [], resources = [], scope }: RuleWithOperations,
): void {
  const alone = (field: string, values: readonly string[], what: string): void => {
    if (values.length === 0) errors.required(`${path}.${field}`);
    if (values.length > 1 && values.includes('*'))
      errors.invalid(`${path}.${field}`, values, `if '*' is present, must not specify other ${what}`);
  };
  alone('operations', operations, 'operations');
  for (const [index, operation] of operations.entries())
    errors.oneOf(`${path}.operations[${index}]`, operation, ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']);
  alone('apiGroups', apiGroups, 'API groups');
  alone('apiVersions', apiVersions, 'API versions');
  for (const [index, version] of apiVersions.entries())
    if (version === '') errors.required(`${path}.apiVersions[${index}]`);
  validateResources(errors, `${path}.resources`, resources);
  if (scope !== undefined) errors.oneOf(`${path}.scope`, scope, ['*', 'Cluster', 'Namespaced']);
}

/** A `*` must not occur together with names that it includes. */
function validateResources(errors: FieldErrors, field: string, resources: readonly string[]): void {
  if (resources.length === 0) errors.required(field);
  const wholes = new Set<string>();
  const everywhere = new Set<string>();
  let plainLast = false;
  for (const [index, each] of resources.entries()) {
    if (each === '') {
      errors.required(`${field}[${index}]`);
      continue;
    }
    const slash = each.indexOf('/');
    if (slash < 0) {
      plainLast = each !== '*';
      continue;
    }
    const [resource, subresource] = [each.slice(0, slash), each.slice(slash + 1)];
    if (wholes.has(resource))
      errors.invalid(`${field}[${index}]`, each, `if '${resource}/*' is present, must not specify ${each}`);
    if (everywhere.has(subresource))
      errors.invalid(`${field}[${index}]`, each, `if '*/${subresource}' is present, must not specify ${each}`);
    if (subresource === '*') wholes.add(resource);
    if (resource === '*') everywhere.add(subresource);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.invalid(field, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && plainLast)
    errors.invalid(field, resources, "if '*' is present, must not specify other resources without subresources");
}

export function validateClient(errors: FieldErrors, path: string, { url, service }: WebhookClientConfig): void {
  if ((url === undefined) === (service === undefined))
    errors.required(path, 'exactly one of url or service is required');
  else if (url !== undefined) validateUrl(errors, `${path}.url`, url);
  else if (service !== undefined) validateServiceReference(errors, `${path}.service`, service);
}

function validateUrl(errors: FieldErrors, field: string, text: string): void {
  const form = '; desired format: https://host[/path]';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    return errors.required(
      field,
      `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI for request${form}`,
    );
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== 'https') errors.invalid(field, scheme, `'https' is the only allowed URL scheme${form}`);
  if (url.host === '') errors.invalid(field, url.host, `host must be specified${form}`);
  if (url.username !== '' || url.password !== '')
    errors.invalid(
      field,
      `${url.username}${url.password === '' ? '' : `:${url.password}`}`,
      'user information is not permitted in the URL',
    );
  if (url.hash !== '') errors.invalid(field, url.hash.slice(1), 'fragments are not permitted in the URL');
  if (url.search !== '') errors.invalid(field, url.search.slice(1), 'query parameters are not permitted in the URL');
}

function validateServiceReference(
  errors: FieldErrors,
  path: string,
  { name, namespace, path: urlPath = '', port }: WebhookServiceReference,
): void {
  if (name === '') errors.required(`${path}.name`);
  if (namespace === '') errors.required(`${path}.namespace`);
  const complaints = checkPortNumber(port ?? 443);
  if (complaints.length > 0) errors.invalid(`${path}.port`, port, `port is not valid: ${complaints.join(', ')}`);
  if (urlPath === '' || urlPath === '/') return;
  const field = `${path}.path`;
  if (urlPath === '//') return errors.invalid(field, urlPath, 'segment[0] may not be empty');
  if (!urlPath.startsWith('/')) errors.invalid(field, urlPath, "must start with a '/'");
  for (const [index, step] of urlPath.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') errors.invalid(field, urlPath, `segment[${index}] may not be empty`);
    else
      for (const complaint of checkDnsSubdomain(step))
        errors.invalid(field, urlPath, `segment[${index}]: ${complaint}`);
  }
}

function validateReviewVersions(
  errors: FieldErrors,
  field: string,
  versions: readonly string[],
  { anyVersion = false }: Leniency,
): void {
  const accepted = reviewVersions.join(', ');
  if (versions.length === 0) return errors.required(field, `must specify one of ${accepted}`);
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) errors.invalid(`${field}[${index}]`, version, 'duplicate version');
    else errors.invalidEach(`${field}[${index}]`, version, checkDns1035Label(version));
    seen.add(version);
  }
  if (!anyVersion && !hasKnownVersion(versions))
    errors.invalid(field, versions, `must include at least one of ${accepted}`);
}
