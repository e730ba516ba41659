import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/mutating-admission-policy.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings } from '../../../api/client/resource-types.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Program } from '../../../cel/compile.ts';
import { fromJson, toJson } from '../../../cel/json-values.ts';
import type { CelValue } from '../../../cel/values.ts';
import { CelError } from '../../../cel/values.ts';
import { Work } from '../../../cel/work.ts';
import { PER_CALL_LIMIT, RUNTIME_BUDGET } from '../../cel/limits.ts';
import { mutationEnvironment, policyEnvironment, VariableScope } from '../../cel/policy-environment.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import { refusal } from '../attributes.ts';
import { inVersion, objectInVersion } from '../equivalent-request.ts';
import { wireForm } from '../webhooks/admission-review.ts';
import type { FindKind } from './find-params.ts';
import { findParams } from './find-params.ts';
import type { BoundPolicy } from './list-policies.ts';
import { listPolicies } from './list-policies.ts';
import { evaluatePrepared, matchConditions } from './match-conditions.ts';
import { isPolicy, matchesResources } from './match-policy.ts';
import type { RequestVariableParts } from './policy-variables.ts';
import { PolicyEvaluation, RequestVariables } from './policy-variables.ts';
import type { Prepared } from './prepared.ts';
import { prepare, prepareConditions } from './prepared.ts';

type Change = (
  attributes: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  change: unknown,
) => ApiObject;

export interface MutatingPolicyOptions extends RequestVariableParts {
  readonly findKind: FindKind;
  /** Applies a JSON patch to the object, and then defaults. Throws if the patch does not apply; a failed test changes nothing. */
  readonly patched: (...args: Parameters<Change>) => ApiObject | 'unchanged';
  /** Merges an apply configuration into the object, and then applies defaults. Throws if it does not fit the schema. */
  readonly merged: Change;
  readonly sameJson: (left: ApiObject, right: ApiObject) => boolean;
  /** The mutating plugins that ran before. They run again after policies have changed the object. */
  readonly before: readonly AdmissionPlugin[];
}

interface Expressions {
  readonly variables: ReadonlyMap<string, Program>;
  readonly conditions: readonly Prepared[];
  readonly mutations: readonly (Prepared & { readonly isPatch: boolean })[];
}

type Bound = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, Expressions>;

function compilePolicy({ spec }: MutatingAdmissionPolicy): Expressions {
  const whole = policyEnvironment({ hasParams: spec.paramKind !== undefined, hasAuthorizer: true });
  const scope = new VariableScope(whole);
  for (const variable of spec.variables ?? []) scope.add(variable);
  const environment = mutationEnvironment(scope.environment);
  return {
    variables: scope.programs,
    conditions: prepareConditions(spec.matchConditions ?? [], whole),
    mutations: (spec.mutations ?? []).map(({ jsonPatch, applyConfiguration }) => {
      const isPatch = jsonPatch !== undefined;
      const source = (isPatch ? jsonPatch : applyConfiguration)?.expression ?? '';
      return { ...prepare(source, environment, isPatch ? 'list' : 'object'), isPatch };
    }),
  };
}

/**
 * Applies MutatingAdmissionPolicies and their bindings one after another. If one changes the object, the plugins before
 * this one run again, and then once the policies with `IfNeeded` up to the one that changed it. `again` is called by later
 * plugins that changed the object. Upstream: MutatingAdmissionPolicy.
 */
export function createMutatingPolicies(options: MutatingPolicyOptions): {
  readonly plugin: AdmissionPlugin;
  readonly again: AdmissionPlugin;
} {
  const list = listPolicies(options.reader, {
    policies: mutatingAdmissionPolicies,
    bindings: mutatingAdmissionPolicyBindings,
    compile: compilePolicy,
  });

  const handles = (attributes: AdmissionAttributes): boolean =>
    list().length > 0 && attributes.object !== undefined && !isPolicy(attributes);
  const isWilling = ({ policy }: Bound): boolean => policy.spec.reinvocationPolicy === 'IfNeeded';
  const again: AdmissionPlugin = {
    name: 'MutatingAdmissionPolicy',
    handles,
    mutate: async (attributes) => (await round(options, attributes, list().filter(isWilling))).object,
  };
  const plugin: AdmissionPlugin = {
    name: 'MutatingAdmissionPolicy',
    handles,
    async mutate(attributes) {
      const first = await round(options, attributes, list());
      if (!first.changed) return first.object;
      let { object } = first;
      for (const before of options.before) {
        const now = { ...attributes, object };
        if (before.mutate !== undefined && before.handles(now)) object = await before.mutate(now);
      }
      const hasChanged = !options.sameJson(object, first.object);
      const repeated = list().filter((each) => isWilling(each) && (hasChanged || first.toAskAgain.has(each.policy)));
      return (await round(options, { ...attributes, object }, repeated)).object;
    },
  };
  return { plugin, again };
}

interface RoundResult {
  readonly object: ApiObject;
  readonly changed: boolean;
  /** The policies that ran up to the last change, and must run again. */
  readonly toAskAgain: ReadonlySet<MutatingAdmissionPolicy>;
}

async function round(
  options: MutatingPolicyOptions,
  attributes: AdmissionAttributes,
  policies: readonly Bound[],
): Promise<RoundResult> {
  // Only requests with an object are handled.
  let object = attributes.object as ApiObject;
  let changed = false;
  const ran = new Set<MutatingAdmissionPolicy>();
  let toAskAgain: ReadonlySet<MutatingAdmissionPolicy> = new Set();
  for (const bound of policies) {
    const next = await applyPolicy(options, { ...attributes, object }, bound);
    ran.add(bound.policy);
    if (next !== object && !options.sameJson(next, object)) {
      changed = true;
      toAskAgain = new Set(ran);
    }
    object = next;
  }
  return { object, changed, toAskAgain };
}

async function applyPolicy(
  options: MutatingPolicyOptions,
  attributes: AdmissionAttributes,
  bound: Bound,
): Promise<ApiObject> {
  const { policy, bindings } = bound;
  const { matchConstraints, failurePolicy } = policy.spec;
  const original = attributes.object as ApiObject;
  const definition = matchConstraints && matchesResources(matchConstraints, attributes, options.reader);
  if (definition === undefined) return original;
  const shown = await inVersion(attributes, definition);
  let object = shown.object as ApiObject;
  for (const binding of bindings) {
    const { matchResources, paramRef } = binding.spec;
    if (matchResources !== undefined && matchesResources(matchResources, attributes, options.reader) === undefined)
      continue;
    const params = await findParams({ ...policy.spec, paramRef }, attributes, options);
    const values =
      typeof params === 'string' ? [] : (params?.map((each) => fromJson(wireForm(each.object, each.type))) ?? [null]);
    const failures = typeof params === 'string' ? [params] : [];
    for (const value of values) {
      const outcome = await applyOnce(options, { ...shown, object }, { bound, params: value });
      if (typeof outcome === 'string') failures.push(outcome);
      else object = outcome;
    }
    const [failure] = failures;
    if (failure !== undefined && failurePolicy !== 'Ignore') throw denial(attributes, policy, binding, failure);
  }
  return object === shown.object ? original : await objectInVersion(object, definition, attributes.definition);
}

function denial(
  attributes: AdmissionAttributes,
  policy: MutatingAdmissionPolicy,
  binding: MutatingAdmissionPolicyBinding,
  failure: string,
): ApiStatusError {
  const text = `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${failure}`;
  const { details } = refusal(attributes, text);
  const causes = [...(details?.causes ?? []), { message: text }];
  // Upstream changes the reason of its Forbidden, not the code.
  return new ApiStatusError('Invalid', text, { ...details, causes }, { code: 403 });
}

/** Returns the changed object, or why it cannot be changed. */
async function applyOnce(
  options: MutatingPolicyOptions,
  attributes: AdmissionAttributes,
  { bound, params }: { readonly bound: Bound; readonly params: CelValue },
): Promise<ApiObject | string> {
  const { variables, conditions, mutations } = bound.expressions();
  const own = new Map([['params', params]]);
  const evaluationOf = (object: ApiObject): PolicyEvaluation =>
    new PolicyEvaluation(new RequestVariables({ ...attributes, object }, options), own, variables, RUNTIME_BUDGET);
  let object = attributes.object as ApiObject;
  const matches = await matchConditions(conditions, evaluationOf(object));
  if (matches === false) return object;
  if (matches !== true) return matches.error;
  for (const mutation of mutations) {
    const result = await evaluatePrepared(mutation, evaluationOf(object));
    if ('error' in result) return result.error;
    const change = toJson(result.value as CelValue, new Work(PER_CALL_LIMIT));
    if (change instanceof CelError) return change.message;
    try {
      object = applyChange(options, { ...attributes, object }, { change, isPatch: mutation.isPatch });
    } catch (error) {
      return mutation.isPatch ? `JSON Patch: ${whyNotPatched(error)}` : `error applying patch: ${errorMessage(error)}`;
    }
  }
  return object;
}

/**
 * Returns the error of a patch with the failed operation. A client does not see it for its own patch, but the author of
 * the policy needs it.
 */
const whyNotPatched = (error: unknown): string =>
  errorMessage(error instanceof ApiStatusError && error.cause instanceof Error ? error.cause : error);

function applyChange(
  { patched, merged }: MutatingPolicyOptions,
  attributes: AdmissionAttributes,
  { change, isPatch }: { readonly change: unknown; readonly isPatch: boolean },
): ApiObject {
  const document = wireForm(attributes.object as ApiObject, attributes.definition.type);
  if (!isPatch) return merged(attributes, document, change);
  const object = patched(attributes, document, change);
  return object === 'unchanged' ? (attributes.object as ApiObject) : object;
}
