import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from '../../../api/client/resource-types.ts';
import type { Program } from '../../../cel/compile.ts';
import { policyEnvironment, VariableScope } from '../../cel/policy-environment.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { BoundPolicy } from './list-policies.ts';
import { listPolicies } from './list-policies.ts';
import type { Prepared } from './prepared.ts';
import { prepare, prepareConditions } from './prepared.ts';

export type PreparedPolicy = BoundPolicy<
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  PolicyExpressions
>;

export interface PolicyExpressions {
  readonly variables: ReadonlyMap<string, Program>;
  readonly conditions: readonly Prepared[];
  readonly validations: readonly Prepared[];
  readonly messages: readonly (Prepared | undefined)[];
  readonly annotations: readonly (Prepared & { readonly key: string })[];
}

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

export const listValidatingPolicies = (reader: ObjectReader): (() => readonly PreparedPolicy[]) =>
  listPolicies(reader, {
    policies: validatingAdmissionPolicies,
    bindings: validatingAdmissionPolicyBindings,
    compile: compilePolicy,
  });
