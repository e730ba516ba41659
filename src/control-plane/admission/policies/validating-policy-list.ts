import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import type { MatchCondition } from '../../../api/admissionregistration/webhook.ts';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from '../../../api/client/resource-types.ts';
import type { Program } from '../../../cel/compile.ts';
import type { Environment } from '../../../cel/environment.ts';
import type { CelType } from '../../../cel/types.ts';
import { compileTyped, policyEnvironment, VariableScope } from '../../cel/policy-environment.ts';
import type { ObjectReader } from '../../model/object-reader.ts';

/** An expression with its text, ready or faulty. */
export interface Prepared {
  readonly source: string;
  readonly program: Program | { readonly fault: string };
}

function prepare(source: string, environment: Environment, ...wanted: CelType['kind'][]): Prepared {
  return { source, program: compileTyped(source.trim(), environment, wanted) };
}

export interface PreparedPolicy {
  readonly policy: ValidatingAdmissionPolicy;
  readonly bindings: readonly ValidatingAdmissionPolicyBinding[];
  /** Compiled with the first request that the policy is about. */
  readonly expressions: () => PolicyExpressions;
}

export interface PolicyExpressions {
  readonly variables: ReadonlyMap<string, Program>;
  readonly conditions: readonly Prepared[];
  readonly validations: readonly Prepared[];
  readonly messages: readonly (Prepared | undefined)[];
  readonly annotations: readonly (Prepared & { readonly key: string })[];
}

export const prepareConditions = (conditions: readonly MatchCondition[], environment: Environment): Prepared[] =>
  conditions.map(({ expression }) => prepare(expression, environment, 'bool'));

function compilePolicy({ spec }: ValidatingAdmissionPolicy): PolicyExpressions {
  const hasParams = spec.paramKind !== undefined;
  const whole = policyEnvironment({ hasParams, hasAuthorizer: true });
  const scope = new VariableScope(whole);
  const messages = new VariableScope(policyEnvironment({ hasParams, hasAuthorizer: false }));
  for (const variable of spec.variables ?? []) {
    scope.add(variable);
    messages.add(variable);
  }
  const { validations = [], auditAnnotations = [], matchConditions = [] } = spec;
  return {
    variables: scope.programs,
    conditions: prepareConditions(matchConditions, whole),
    validations: validations.map(({ expression }) => prepare(expression, scope.environment, 'bool')),
    messages: validations.map(({ messageExpression = '' }) =>
      messageExpression === '' ? undefined : prepare(messageExpression, messages.environment, 'string'),
    ),
    annotations: auditAnnotations.map(({ key, valueExpression }) => ({
      key,
      ...prepare(valueExpression, scope.environment, 'string', 'null'),
    })),
  };
}

/** Computes a value when it is first asked for. */
function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** All policies that have a binding, by name. Made again only after a change; what has not changed stays compiled. */
export function listValidatingPolicies(reader: ObjectReader): () => readonly PreparedPolicy[] {
  let list: readonly PreparedPolicy[] | undefined;
  let compiled = new Map<ValidatingAdmissionPolicy, () => PolicyExpressions>();
  reader.onChange(validatingAdmissionPolicies, () => (list = undefined));
  reader.onChange(validatingAdmissionPolicyBindings, () => (list = undefined));
  return () => (list ??= read());
  function read(): readonly PreparedPolicy[] {
    const bindings = Map.groupBy(
      reader.list(validatingAdmissionPolicyBindings, ''),
      ({ spec }) => spec.policyName ?? '',
    );
    const policies = reader.list(validatingAdmissionPolicies, '').filter(({ metadata }) => bindings.has(metadata.name));
    const before = compiled;
    compiled = new Map(policies.map((policy) => [policy, before.get(policy) ?? lazily(() => compilePolicy(policy))]));
    return [...compiled]
      .map(([policy, expressions]) => ({ policy, expressions, bindings: bindings.get(policy.metadata.name) ?? [] }))
      .sort((left, right) => (left.policy.metadata.name < right.policy.metadata.name ? -1 : 1));
  }
}
