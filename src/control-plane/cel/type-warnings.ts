import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '../../api/admissionregistration/validating-admission-policy.ts';
import type { Schema } from '../../api/schema/schema.ts';
import { compileExpression } from '../../cel/compile.ts';
import { policyEnvironment, VariableScope } from './policy-environment.ts';
import { typeOfKind } from './kind-types.ts';

/** A kind that policies can match. */
export interface CheckedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly schema: Schema;
}

/** The maximum number of kinds checked for one policy (upstream: typechecking.go maxTypesToCheck). */
const MOST_KINDS = 10;

/** The kinds that a policy names. Stars and subresources are not checked. */
function kindsOf({ spec }: ValidatingAdmissionPolicy, kinds: readonly CheckedKind[]): readonly CheckedKind[] {
  const named = (spec.matchConstraints?.resourceRules ?? []).flatMap((rule) => {
    const { apiGroups = [], apiVersions = [], resources = [] } = rule;
    if ([...apiGroups, ...apiVersions].includes('*')) return [];
    return kinds.filter(
      ({ group, version, plural }) =>
        apiGroups.includes(group) && apiVersions.includes(version) && resources.includes(plural),
    );
  });
  return [...new Set(named)].slice(0, MOST_KINDS);
}

const shown = ({ group, version, kind }: CheckedKind): string =>
  `${group === '' ? '' : `${group}/`}${version}, Kind=${kind}`;

/** Type errors in the expressions of a policy, for each matched kind (upstream: validating/typechecking.go Check). */
export function findTypeWarnings(
  policy: ValidatingAdmissionPolicy,
  kinds: readonly CheckedKind[],
): ExpressionWarning[] {
  const { paramKind, variables = [], validations = [] } = policy.spec;
  const scopes = kindsOf(policy, kinds).map((kind) => {
    const objectType = typeOfKind(kind.schema);
    const hasParams = paramKind !== undefined;
    const scope = new VariableScope(policyEnvironment({ hasParams, hasAuthorizer: true, objectType }));
    for (const variable of variables) scope.add(variable);
    return { kind, environment: scope.environment };
  });
  const check = (fieldRef: string, expression: string): ExpressionWarning[] => {
    const faults = scopes.flatMap(({ kind, environment }) => {
      const program = compileExpression(expression, environment);
      return 'fault' in program ? [`${shown(kind)}: ${program.fault}\n`] : [];
    });
    return faults.length === 0 ? [] : [{ fieldRef, warning: faults.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression = '' }, index) => [
    ...check(`spec.validations[${index}].expression`, expression),
    ...(messageExpression === '' ? [] : check(`spec.validations[${index}].messageExpression`, messageExpression)),
  ]);
}
