import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../admissionregistration/mutating-admission-policy.ts';
import type { MatchResources, NamedRuleWithOperations } from '../admissionregistration/policy-parts.ts';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../admissionregistration/validating-admission-policy.ts';

/** A copy with the defaults that the API server sets (upstream: admissionregistration/v1 defaults.go). */
export function defaultAdmissionPolicy<P extends ValidatingAdmissionPolicy | MutatingAdmissionPolicy>(policy: P): P {
  const { matchConstraints, failurePolicy } = policy.spec;
  return {
    ...policy,
    spec: {
      ...policy.spec,
      ...(matchConstraints !== undefined && { matchConstraints: defaultMatch(matchConstraints) }),
      failurePolicy: failurePolicy ?? 'Fail',
    },
  };
}

export function defaultPolicyBinding<B extends ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding>(
  binding: B,
): B {
  const { matchResources } = binding.spec;
  if (matchResources === undefined) return binding;
  return {
    ...binding,
    spec: {
      ...binding.spec,
      matchResources: defaultMatch(matchResources),
    },
  };
}

function defaultMatch(match: MatchResources): MatchResources {
  const { resourceRules, excludeResourceRules } = match;
  return {
    ...match,
    ...(resourceRules !== undefined && { resourceRules: resourceRules.map(defaultRule) }),
    ...(excludeResourceRules !== undefined && { excludeResourceRules: excludeResourceRules.map(defaultRule) }),
    namespaceSelector: match.namespaceSelector ?? {},
    objectSelector: match.objectSelector ?? {},
    matchPolicy: match.matchPolicy ?? 'Equivalent',
  };
}

const defaultRule = (rule: NamedRuleWithOperations): NamedRuleWithOperations =>
  rule.scope === undefined ? { ...rule, scope: '*' } : rule;
