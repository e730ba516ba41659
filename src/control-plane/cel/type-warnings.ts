import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '../../api/admissionregistration/validating-admission-policy.ts';
import { ObjectMetaSchema } from '../../api/core/meta.ts';
import type { Schema } from '../../api/schema/schema.ts';
import { compileExpression } from '../../cel/compile.ts';
import { dynType } from '../../cel/types.ts';
import type { CelType } from '../../cel/types.ts';
import { policyEnvironment, VariableScope } from './policy-environment.ts';
import { typeOfKind } from './kind-types.ts';
import { schemaType } from './schema-types.ts';
import type { RuleSchema } from './schema-types.ts';

/** A kind that policies can match, or use for their parameters. */
export type CheckedKind = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
} & (
  | { readonly schema: Schema }
  /** A custom kind, with the schema of its definition. */
  | { readonly custom: () => RuleSchema }
);

const typeOf = (kind: CheckedKind): CelType =>
  'custom' in kind ? typeOfCustomKind(kind.custom()) : typeOfKind(kind.schema);

/** Returns the type of a custom kind. Its metadata is that of all objects, even if the schema defines another one. */
function typeOfCustomKind(schema: RuleSchema): CelType {
  const own = schemaType(schema, true)?.type;
  if (own?.kind !== 'object') return dynType;
  const metadata = typeOfKind(ObjectMetaSchema);
  return { ...own, field: (name) => (name === 'metadata' ? metadata : own.field(name)) };
}

/** Returns the type of the parameters. Unknown kinds are not checked (upstream: ErrSchemaNotFound). */
function paramsTypeOf(
  { spec: { paramKind } }: ValidatingAdmissionPolicy,
  kinds: readonly CheckedKind[],
): CelType | undefined {
  const found = kinds.find(
    ({ group, version, kind }) =>
      kind === paramKind?.kind && `${group === '' ? '' : `${group}/`}${version}` === paramKind.apiVersion,
  );
  return found && typeOf(found);
}

/** The maximum number of kinds checked for one policy (upstream: typechecking.go maxTypesToCheck). */
const MOST_KINDS = 10;

/** Returns the kinds that a policy names. Wildcards and subresources are not checked. */
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
  const paramsType = paramsTypeOf(policy, kinds);
  const scopes = kindsOf(policy, kinds).map((kind) => {
    const scope = new VariableScope(
      policyEnvironment({
        hasParams: paramKind !== undefined,
        hasAuthorizer: true,
        objectType: typeOf(kind),
        ...(paramsType !== undefined && { paramsType }),
      }),
    );
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
