import type { ValidatingAdmissionPolicyBinding } from '../../../api/admissionregistration/validating-admission-policy.ts';
import type { StatusReason } from '../../../api/status/api-status-error.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { fromJson } from '../../../cel/json-values.ts';
import type { CelValue } from '../../../cel/values.ts';
import { RUNTIME_BUDGET } from '../../cel/limits.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { refusal } from '../attributes.ts';
import { inVersion } from '../equivalent-request.ts';
import { wireForm } from '../webhooks/admission-review.ts';
import { evaluatePrepared, matchConditions } from './match-conditions.ts';
import type { FindKind } from './find-params.ts';
import { findParams } from './find-params.ts';
import { isPolicy, matchesResources } from './match-policy.ts';
import type { RequestVariableParts } from './policy-variables.ts';
import { PolicyEvaluation, RequestVariables } from './policy-variables.ts';
import type { PreparedPolicy } from './validating-policy-list.ts';
import { listValidatingPolicies } from './validating-policy-list.ts';

export interface PolicyOptions extends RequestVariableParts {
  readonly findKind: FindKind;
}

/** Validates requests by ValidatingAdmissionPolicies and their bindings. Upstream: ValidatingAdmissionPolicy. */
export function createValidatingPolicies(options: PolicyOptions): AdmissionPlugin {
  const list = listValidatingPolicies(options.reader);
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: (attributes) => list().length > 0 && !isPolicy(attributes),
    async validate(attributes) {
      const known = new Map<ResourceDefinition, RequestVariables>();
      // Created once for all policies that match the request in the same version.
      const requestIn: RequestIn = async (definition) => {
        const request = known.get(definition) ?? new RequestVariables(await inVersion(attributes, definition), options);
        known.set(definition, request);
        return request;
      };
      const failures: Failure[] = [];
      for (const prepared of list()) failures.push(...(await judge(prepared, attributes, requestIn, options)));
      report(failures, attributes);
    },
  };
}

/** A rule that was not true, or an error that counts as such. */
interface Failure {
  readonly policy: string;
  readonly binding: ValidatingAdmissionPolicyBinding;
  readonly message: string;
  readonly reason: string;
  readonly index: number;
}

/** The request converted to one version of its kind. */
type RequestIn = (definition: ResourceDefinition) => Promise<RequestVariables>;

async function judge(
  prepared: PreparedPolicy,
  attributes: AdmissionAttributes,
  requestIn: RequestIn,
  options: PolicyOptions,
): Promise<readonly Failure[]> {
  const { policy, bindings } = prepared;
  const { matchConstraints } = policy.spec;
  const definition = matchConstraints && matchesResources(matchConstraints, attributes, options.reader);
  if (definition === undefined) return [];
  const request = await requestIn(definition);
  const failures: Failure[] = [];
  for (const binding of bindings) {
    const { matchResources } = binding.spec;
    if (matchResources !== undefined && matchesResources(matchResources, attributes, options.reader) === undefined)
      continue;
    const fail = (message: string, reason = 'Invalid', index = 0): void => {
      failures.push({ policy: policy.metadata.name, binding, message, reason, index });
    };
    const params = await findParams({ ...policy.spec, paramRef: binding.spec.paramRef }, attributes, options);
    if (typeof params === 'string') {
      if (policy.spec.failurePolicy !== 'Ignore') fail(params);
      continue;
    }
    const values = params?.map(({ object, type }) => fromJson(wireForm(object, type))) ?? [null];
    for (const value of values) await judgeOne(prepared, request, { params: value, fail, attributes });
  }
  return failures;
}

interface OneJudgement {
  readonly params: CelValue;
  readonly fail: (message: string, reason?: string, index?: number) => void;
  readonly attributes: AdmissionAttributes;
}

/** Evaluates one policy with one object of parameters. */
async function judgeOne(
  { policy, expressions }: PreparedPolicy,
  request: RequestVariables,
  { params, fail, attributes }: OneJudgement,
): Promise<void> {
  const { variables, conditions, validations, messages, annotations } = expressions();
  const { spec } = policy;
  const own = new Map([['params', params]]);
  const evaluation = new PolicyEvaluation(request, own, variables, RUNTIME_BUDGET);
  const failOnError = (error: string, index = 0): void => {
    if (spec.failurePolicy !== 'Ignore') fail(error, 'Invalid', index);
  };
  const matches = await matchConditions(conditions, evaluation);
  if (matches === false) return;
  if (matches !== true) return failOnError(matches.error);
  for (const [index, prepared] of validations.entries()) {
    const result = await evaluatePrepared(prepared, evaluation);
    if ('error' in result) failOnError(result.error, index);
    else if (result.value !== true) {
      const { message = '', reason } = spec.validations?.[index] ?? {};
      const own = messages[index] && (await evaluatePrepared(messages[index], evaluation));
      const shown = own !== undefined && 'value' in own ? usableMessage(own.value) : undefined;
      fail(shown ?? (message.trim() || `failed expression: ${prepared.source.trim()}`), reason, index);
    }
  }
  for (const annotation of annotations) {
    const result = await evaluatePrepared(annotation, evaluation);
    if ('error' in result) failOnError(result.error);
    else if (typeof result.value === 'string' && result.value !== '')
      attributes.context.annotate(`${policy.metadata.name}/${annotation.key}`, result.value.trim().slice(0, 10_240));
  }
}

const MESSAGE_LIMIT = 5 * 1024;

/** Returns the message if it is one line of at most 5 KiB; otherwise the message of the policy is used. */
function usableMessage(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const message = value.trim();
  return message === '' || message.length > MESSAGE_LIMIT || message.includes('\n') ? undefined : message;
}

const codes = new Map<string, number>([
  ['Unauthorized', 401],
  ['Forbidden', 403],
  ['RequestEntityTooLarge', 413],
]);

/** Warns, annotates or refuses, according to the bindings. */
function report(failures: readonly Failure[], attributes: AdmissionAttributes): void {
  const audited = failures.filter(({ binding }) => binding.spec.validationActions?.includes('Audit'));
  for (const { policy, binding, message } of failures) {
    if (binding.spec.validationActions?.includes('Warn'))
      attributes.context.warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding.metadata.name}': ${message}`,
      );
  }
  if (audited.length > 0)
    attributes.context.annotate(
      'validation.policy.admission.k8s.io/validation_failure',
      JSON.stringify(
        audited.map(({ policy, binding, message, index }) => ({
          message,
          policy,
          binding: binding.metadata.name,
          expressionIndex: index,
          validationActions: binding.spec.validationActions,
        })),
      ),
    );
  const denied = failures.find(({ binding }) => binding.spec.validationActions?.includes('Deny'));
  if (denied !== undefined) throw denial(denied, attributes);
}

function denial({ policy, binding, message, reason }: Failure, attributes: AdmissionAttributes): ApiStatusError {
  const text = `ValidatingAdmissionPolicy '${policy}' with binding '${binding.metadata.name}' denied request: ${message}`;
  const { message: whole, details } = refusal(attributes, text);
  const causes = [...(details?.causes ?? []), { message: text }];
  // Validation allows these reasons and no others.
  return new ApiStatusError(reason as StatusReason, whole, { ...details, causes }, { code: codes.get(reason) ?? 422 });
}
