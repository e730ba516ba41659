import type { Variable } from '../../api/admissionregistration/policy-parts.ts';
import type { PolicyChecks } from '../../api/validation/access/validate-admission-policies.ts';
import type { CheckText } from '../../api/validation/access/validate-match-conditions.ts';
import type { Environment } from '../../cel/environment.ts';
import type { CelType } from '../../cel/types.ts';
import { compileTyped, mutationEnvironment, policyEnvironment, VariableScope } from './policy-environment.ts';

const checkText =
  (environment: () => Environment, ...wanted: CelType['kind'][]): CheckText =>
  (expression) => {
    const program = compileTyped(expression, environment(), wanted);
    return 'fault' in program ? program.fault : undefined;
  };

/** Checks a match condition of a webhook. */
export const checkMatchCondition: CheckText = checkText(
  () => policyEnvironment({ hasParams: false, hasAuthorizer: true }),
  'bool',
);

/** Creates checks that compile the expressions of one policy before it is stored. */
export function createPolicyChecks({ paramKind }: { readonly paramKind?: unknown }): PolicyChecks {
  const hasParams = paramKind !== undefined;
  const whole = policyEnvironment({ hasParams, hasAuthorizer: true });
  const scope = new VariableScope(whole);
  const messages = new VariableScope(policyEnvironment({ hasParams, hasAuthorizer: false }));
  return {
    condition: checkText(() => whole, 'bool'),
    variable: (variable: Variable) => {
      messages.add(variable);
      return scope.add(variable);
    },
    validation: checkText(() => scope.environment, 'bool'),
    message: checkText(() => messages.environment, 'string'),
    annotation: checkText(() => scope.environment, 'string', 'null'),
    applyConfiguration: checkText(() => mutationEnvironment(scope.environment), 'object'),
    jsonPatch: checkText(() => mutationEnvironment(scope.environment), 'list'),
  };
}
