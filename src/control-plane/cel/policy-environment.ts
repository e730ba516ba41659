import type { Variable } from '../../api/admissionregistration/policy-parts.ts';
import type { Program } from '../../cel/compile.ts';
import { compileExpression } from '../../cel/compile.ts';
import type { Environment, StructType } from '../../cel/environment.ts';
import { EntryMap } from '../../cel/values.ts';
import type { CelType } from '../../cel/types.ts';
import {
  boolType,
  dynType,
  formatType,
  intType,
  listOf,
  mapOf,
  objectType,
  stringType,
  timestampType,
} from '../../cel/types.ts';
import { authorizerType, resourceCheckType } from './authorizer.ts';
import { baseEnvironment } from './environment.ts';
import { jsonPatches } from './json-patch.ts';

const texts = (...names: string[]): Record<string, CelType> =>
  Object.fromEntries(names.map((name) => [name, stringType]));

const kindType = objectType('kubernetes.GroupVersionKind', texts('group', 'version', 'kind'));
const resourceType = objectType('kubernetes.GroupVersionResource', texts('group', 'version', 'resource'));
const userType = objectType('kubernetes.UserInfo', {
  ...texts('username', 'uid'),
  groups: listOf(stringType),
  extra: mapOf(stringType, listOf(stringType)),
});

/** The `request` of an expression (upstream: plugin/cel/compile.go BuildRequestType). */
export const requestType = objectType('kubernetes.AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  ...texts('name', 'namespace', 'operation'),
  userInfo: userType,
  dryRun: boolType,
  options: dynType,
});

/** The `namespaceObject` of an expression: a part of the namespace's fields. */
export const namespaceType = objectType('kubernetes.Namespace', {
  metadata: objectType('kubernetes.NamespaceMetadata', {
    ...texts('name', 'generateName', 'namespace', 'UID', 'resourceVersion'),
    labels: mapOf(stringType, stringType),
    annotations: mapOf(stringType, stringType),
    creationTimestamp: timestampType,
    deletionTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    generation: intType,
    finalizers: listOf(stringType),
  }),
  spec: objectType('kubernetes.NamespaceSpec', { finalizers: listOf(stringType) }),
  status: objectType('kubernetes.NamespaceStatus', { phase: stringType }),
});

export interface PolicyVariables {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** The types of `object`, `oldObject` and `params`, if known, else dyn. */
  readonly objectType?: CelType;
  readonly paramsType?: CelType;
}

/** Returns the variables and functions for expressions of webhooks and policies. */
export function policyEnvironment({ hasParams, hasAuthorizer, ...types }: PolicyVariables): Environment {
  const object = types.objectType ?? dynType;
  return baseEnvironment.withVariables({
    object,
    oldObject: object,
    request: requestType,
    namespaceObject: namespaceType,
    ...(hasParams && { params: types.paramsType ?? dynType }),
    ...(hasAuthorizer && { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType }),
  });
}

/** Returns the types that expressions of mutations construct: Object, with parts of any name, and JSONPatch. */
function mutationStructs(name: string): StructType | undefined {
  if (name === 'JSONPatch') return patchOperation;
  if (name !== 'Object' && !name.startsWith('Object.')) return undefined;
  const type: CelType = { kind: 'object', name, field: () => dynType };
  return { type, create: mapOfFields };
}

const patchOperation: StructType = {
  type: objectType('JSONPatch', { ...texts('op', 'path', 'from'), value: dynType }),
  create: mapOfFields,
};

function mapOfFields(fields: Parameters<StructType['create']>[0]): EntryMap {
  const map = new EntryMap();
  for (const [name, value] of fields) map.add(name, name, value);
  return map;
}

export function mutationEnvironment(environment: Environment): Environment {
  return environment.withLibraries(jsonPatches).withStructs(mutationStructs);
}

/** Upstream's names of the result types that policies require. Of objects and lists each policy requires one type. */
const wantedNames: ReadonlyMap<string, string> = new Map([
  ['null', 'null_type'],
  ['object', 'Object'],
  ['list', 'list(JSONPatch)'],
]);

/** Compiles a program. Returns upstream's error message if the expression is invalid. */
export function compileTyped(
  source: string,
  environment: Environment,
  wanted: readonly CelType['kind'][],
): Program | { readonly fault: string } {
  const program = compileExpression(source, environment);
  if ('fault' in program) return { fault: `compilation failed: ${program.fault}` };
  const { kind } = program.type;
  const shown = formatType(program.type);
  const isOf = (each: CelType['kind']): boolean =>
    kind === each && (each === 'object' || each === 'list' ? shown === wantedNames.get(each) : true);
  // Upstream refuses even an expression whose type is known only when it runs.
  if (wanted.length === 0 || wanted.some(isOf)) return program;
  const names = wanted.map((each) => wantedNames.get(each) ?? each);
  const expected = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
  return { fault: `must evaluate to ${expected} but got ${shown}` };
}

/** The variables of a policy. Each can use the earlier ones. An invalid one has the type dyn for later ones. */
export class VariableScope {
  readonly #types = new Map<string, CelType>();
  readonly programs = new Map<string, Program>();
  /** One type for all variables, because a separate type for each would be quadratic in their number. */
  readonly #type: CelType = { kind: 'object', name: 'kubernetes.variables', field: (name) => this.#types.get(name) };
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment.withVariables({ variables: this.#type });
  }

  get environment(): Environment {
    return this.#environment;
  }

  /** Adds a variable. Returns its error, if any. */
  add({ name, expression }: Variable): string | undefined {
    const program = compileTyped(expression, this.#environment, []);
    const isFaulty = 'fault' in program;
    this.#types.set(name, isFaulty ? dynType : program.type);
    if (!isFaulty) this.programs.set(name, program);
    return isFaulty ? program.fault : undefined;
  }
}
