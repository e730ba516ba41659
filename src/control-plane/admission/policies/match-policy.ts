import type { MatchResources, NamedRuleWithOperations } from '../../../api/admissionregistration/policy-parts.ts';
import { namespaces } from '../../../api/client/resource-types.ts';
import { notFound } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { matchedVersion } from '../equivalent-request.ts';
import { matchesNamespace, matchesObject, matchesRules, namespaceOf } from '../webhooks/match-webhook.ts';

/**
 * Whether the kind is exempt from policies. Policies do not apply to policies, because one that refuses everything
 * could otherwise not be removed.
 */
export function isPolicy({ definition: { type } }: AdmissionAttributes): boolean {
  return type.group === 'admissionregistration.k8s.io' && /^(?:valid|mut)atingadmissionpolic/.test(type.plural);
}

const matchesNames = ({ resourceNames = [] }: NamedRuleWithOperations, { name }: AdmissionAttributes): boolean =>
  resourceNames.length === 0 || resourceNames.includes(name);

const matchesAny =
  (rules: readonly NamedRuleWithOperations[]) =>
  (attributes: AdmissionAttributes): boolean =>
    rules.some((rule) => matchesNames(rule, attributes) && matchesRules({ rules: [rule] }, attributes));

/**
 * Returns the version in which a policy or binding matches the request, or undefined if it does not match (upstream:
 * policy/matching/matching.go Matches). Without rules, a binding matches everything that its policy matches. Throws
 * NotFound if the result depends on a missing namespace.
 */
export function matchesResources(
  match: MatchResources,
  attributes: AdmissionAttributes,
  reader: ObjectReader,
): ResourceDefinition | undefined {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  if (matchedVersion(attributes, matchPolicy, matchesAny(excludeResourceRules)) !== undefined) return undefined;
  const definition =
    resourceRules.length === 0
      ? attributes.definition
      : matchedVersion(attributes, matchPolicy, matchesAny(resourceRules));
  if (definition === undefined || !matchesObject(match, attributes)) return undefined;
  const inNamespace = matchesNamespace(match, attributes, (name) => {
    const found = reader.get(namespaces, { namespace: '', name });
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  });
  if (inNamespace === 'unknown namespace') throw notFound(namespaces, namespaceOf(attributes));
  return inNamespace ? definition : undefined;
}
