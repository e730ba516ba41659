import { formatDurationNanos, parseDurationNanos } from '../../../api/duration.ts';
import { goAggregate } from '../../../api/go-aggregate.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import type { Program } from '../../../cel/compile.ts';
import type { AuthorizationConfiguration, WebhookConfiguration } from './authorization-configuration.ts';
import { compileMatchCondition } from './match-conditions.ts';

/** The types, in upstream's order of names. */
const authorizerTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

const MOST_CONDITIONS = 64;
const LONGEST_TIMEOUT = 30_000_000_000n;

/** One validated entry of the list. */
export type ConfiguredAuthorizer =
  | { readonly type: Exclude<AuthorizerType, 'Webhook'>; readonly name: string }
  | { readonly type: 'Webhook'; readonly name: string; readonly webhook: ConfiguredWebhook };

export interface ConfiguredWebhook {
  readonly kubeConfigFile: string;
  readonly timeoutMs: number;
  /** How long allowed requests are cached, in milliseconds; 0 turns it off. */
  readonly authorizedMs: number;
  readonly unauthorizedMs: number;
  readonly version: 'v1' | 'v1beta1';
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  readonly conditions: readonly Program[];
}

export interface AuthorizationChecks {
  /** Returns the problem of a kubeconfig file, without reading its content. */
  fileProblem(file: string): string | undefined;
  /** The types that must be in the list, because they were in it at the start. */
  readonly requiredTypes?: ReadonlySet<AuthorizerType>;
}

/**
 * Returns the authorizers, or the errors in upstream's words and order (upstream: apiserver/validation
 * ValidateAuthorizationConfiguration, kubeapiserver/authorizer/config.go LoadAndValidateData).
 */
export function validateAuthorizationConfiguration(
  { authorizers = [] }: AuthorizationConfiguration,
  checks: AuthorizationChecks,
): readonly ConfiguredAuthorizer[] | string {
  const errors = new FieldErrors();
  if (authorizers.length === 0) errors.required('authorizers', 'at least one authorization mode must be defined');
  const types = new Set<AuthorizerType>();
  const names = new Set<string>();
  const found = authorizers.flatMap(({ type = '', name = '', webhook }, index): readonly ConfiguredAuthorizer[] => {
    const path = `authorizers[${index}]`;
    const known = authorizerTypes.find((each) => each === type);
    if (type === '') errors.required(`${path}.type`);
    else if (known === undefined) errors.notSupported(`${path}.type`, type, authorizerTypes);
    else if (types.has(known) && known !== 'Webhook') errors.duplicate(`${path}.type`, type);
    if (known === undefined || (types.has(known) && known !== 'Webhook')) return [];
    types.add(known);
    validateName(errors, `${path}.name`, name, names);
    names.add(name);
    if (known !== 'Webhook') {
      if (webhook !== undefined)
        errors.invalid(`${path}.webhook`, 'non-null', 'may only be specified when type=Webhook');
      return [{ type: known, name }];
    }
    if (webhook !== undefined) return [{ type: known, name, webhook: validateWebhook(errors, path, webhook, checks) }];
    errors.required(`${path}.webhook`, 'required when type=Webhook');
    return [];
  });
  if (errors.list.length > 0) return goAggregate(errors.list.map(formatFieldError));
  const problems = ownRules(found, checks.requiredTypes ?? new Set());
  return problems.length > 0 ? goAggregate(problems) : found;
}

function validateName(errors: FieldErrors, field: string, name: string, names: ReadonlySet<string>): void {
  if (name === '') return errors.required(field);
  if (names.has(name)) return errors.duplicate(field, name);
  const problems = checkDnsSubdomain(name);
  if (problems.length > 0) errors.invalid(field, name, `authorizer name is invalid: ${problems.join(', ')}`);
}

/** Checks the rules of this server in addition to those of the format. */
function ownRules(found: readonly ConfiguredAuthorizer[], required: ReadonlySet<AuthorizerType>): string[] {
  const modes = found.filter(({ type }) => type !== 'Webhook');
  const missing = [...required].filter((type) => !modes.some((each) => each.type === type)).sort();
  return [
    ...modes
      .filter(({ type, name }) => name !== type.toLowerCase())
      .map(({ type, name }) => `expected name ${type.toLowerCase()} for authorizer ${type} instead of ${name}`),
    ...(missing.length > 0 ? [`missing required types: [${missing.join(' ')}]`] : []),
  ];
}

function validateWebhook(
  errors: FieldErrors,
  path: string,
  webhook: WebhookConfiguration,
  { fileProblem }: AuthorizationChecks,
): ConfiguredWebhook {
  const { matchConditions = [], failurePolicy = '', connectionInfo = {} } = webhook;
  const timeout = nanosOf(webhook.timeout);
  if (timeout === 0n) errors.required(`${path}.timeout`);
  else if (timeout > LONGEST_TIMEOUT || timeout < 0n)
    errors.invalid(`${path}.timeout`, formatDurationNanos(timeout), 'must be > 0s and <= 30s');
  const authorized = lifetime(errors, `${path}.authorizedTTL`, webhook.authorizedTTL);
  const unauthorized = lifetime(errors, `${path}.unauthorizedTTL`, webhook.unauthorizedTTL);
  validateVersions(errors, path, webhook);
  if (failurePolicy === '') errors.required(`${path}.failurePolicy`);
  else errors.oneOf(`${path}.failurePolicy`, failurePolicy, ['NoOpinion', 'Deny']);
  const kubeConfigFile = connectionInfo.kubeConfigFile;
  validateConnection(errors, `${path}.connectionInfo`, connectionInfo, fileProblem);
  return {
    kubeConfigFile: kubeConfigFile ?? '',
    timeoutMs: msOf(timeout),
    authorizedMs: webhook.cacheAuthorizedRequests === false ? 0 : msOf(authorized),
    unauthorizedMs: webhook.cacheUnauthorizedRequests === false ? 0 : msOf(unauthorized),
    version: webhook.subjectAccessReviewVersion === 'v1beta1' ? 'v1beta1' : 'v1',
    failurePolicy: failurePolicy === 'Deny' ? 'Deny' : 'NoOpinion',
    conditions: compileConditions(errors, `${path}.matchConditions`, matchConditions),
  };
}

const nanosOf = (text: string | undefined): bigint => parseDurationNanos(text ?? '0') ?? 0n;
const msOf = (nanos: bigint): number => Number(nanos) / 1e6;

function lifetime(errors: FieldErrors, field: string, text: string | undefined): bigint {
  const nanos = nanosOf(text);
  if (nanos === 0n) errors.required(field);
  else if (nanos < 0n) errors.invalid(field, formatDurationNanos(nanos), 'must be > 0s');
  return nanos;
}

function validateVersions(errors: FieldErrors, path: string, webhook: WebhookConfiguration): void {
  const { subjectAccessReviewVersion: sent = '', matchConditionSubjectAccessReviewVersion: judged = '' } = webhook;
  if (sent === '') errors.required(`${path}.subjectAccessReviewVersion`);
  else errors.oneOf(`${path}.subjectAccessReviewVersion`, sent, ['v1', 'v1beta1']);
  const field = `${path}.matchConditionSubjectAccessReviewVersion`;
  if (judged !== '') errors.oneOf(field, judged, ['v1']);
  else if ((webhook.matchConditions ?? []).length > 0)
    errors.required(field, 'required if match conditions are specified');
}

function validateConnection(
  errors: FieldErrors,
  path: string,
  connection: NonNullable<WebhookConfiguration['connectionInfo']>,
  fileProblem: AuthorizationChecks['fileProblem'],
): void {
  const { type = '', kubeConfigFile: file } = connection;
  const field = `${path}.kubeConfigFile`;
  if (type === '') return errors.required(`${path}.type`);
  if (type === 'InClusterConfig') {
    if (file !== undefined) errors.invalid(field, file, 'can only be set when type=KubeConfigFile');
    else
      errors.invalid(
        `${path}.type`,
        type,
        'this server does not run in a pod; set type KubeConfigFile and name a file',
      );
    return;
  }
  if (type !== 'KubeConfigFile')
    return errors.notSupported(`${path}.type`, connection, ['InClusterConfig', 'KubeConfigFile']);
  if (file === undefined || file === '') return errors.required(field);
  if (!file.startsWith('/')) return errors.invalid(field, file, 'must be an absolute path');
  const problem = fileProblem(file);
  if (problem !== undefined) errors.invalid(field, file, problem);
}

function compileConditions(
  errors: FieldErrors,
  path: string,
  conditions: NonNullable<WebhookConfiguration['matchConditions']>,
): readonly Program[] {
  if (conditions.length > MOST_CONDITIONS) {
    errors.tooMany(path, conditions.length, MOST_CONDITIONS);
    return [];
  }
  const seen = new Set<string>();
  return conditions.flatMap(({ expression = '' }, index) => {
    const field = `${path}[${index}].expression`;
    if (expression.trim() === '') errors.required(field);
    else if (seen.has(expression)) errors.duplicate(field, expression);
    else {
      seen.add(expression);
      const program = compileMatchCondition(expression);
      if (typeof program !== 'string') return [program];
      errors.invalid(field, expression, program);
    }
    return [];
  });
}
