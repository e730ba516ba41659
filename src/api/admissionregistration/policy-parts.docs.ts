import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  MatchResourcesSchema,
  NamedRuleWithOperationsSchema,
  ParamKindSchema,
  ParamRefSchema,
  VariableSchema,
} from './policy-parts.ts';

/** Texts for policies of both kinds. */
export const policyDocs = {
  paramKind: 'The kind of objects that configure the policy. Without it, expressions have no params.',
  matchConstraints: 'The requests to which the policy applies.',
  variables:
    'Named expressions that other expressions read as variables.NAME. Each is evaluated when it is first read, and can read those before it.',
  failurePolicy:
    'What happens when an expression fails: Fail rejects the request, Ignore continues without the policy. Default Fail.',
  matchConditions: 'CEL expressions that must all be true for the policy to be evaluated.',
};

/** Texts for bindings of both kinds. */
export const bindingDocs = {
  policyName: 'The policy that is bound.',
  paramRef: 'The objects that configure the policy.',
  matchResources: 'Narrows the requests of the policy.',
};

export const docs: readonly TypeDocs[] = [
  describe(ParamKindSchema, 'The kind of objects that configure a policy.', {
    apiVersion: 'The group and version of the kind.',
    kind: 'The kind.',
  }),
  describe(NamedRuleWithOperationsSchema, 'Selects requests by operation, resource and name.', {
    resourceNames: 'The names of the objects; empty selects all.',
    operations: 'The operations; * selects all.',
    apiGroups: 'The API groups; * selects all.',
    apiVersions: 'The versions; * selects all.',
    resources: 'The resources, such as pods, pods/log, pods/* or *.',
    scope: 'Cluster selects resources without a namespace, Namespaced those in one, * all. Default *.',
  }),
  describe(MatchResourcesSchema, 'Selects requests.', {
    namespaceSelector: 'Only objects in namespaces with these labels.',
    objectSelector: 'Only objects with these labels, before or after the change.',
    resourceRules: 'The requests that are selected. Any of the rules is enough.',
    excludeResourceRules: 'Requests that are not selected, whatever resourceRules says.',
    matchPolicy: 'Exact, or Equivalent: requests for other versions of the resource match too. Default Equivalent.',
  }),
  describe(VariableSchema, 'A named expression.', {
    name: 'The name, a CEL identifier.',
    expression: 'The expression, in CEL.',
  }),
  describe(ParamRefSchema, 'Selects the objects that configure a policy, by name or by labels.', {
    name: 'The name of the object.',
    namespace: 'The namespace of the objects. Without it, that of the request.',
    selector: 'The labels of the objects. The policy is evaluated once for each.',
    parameterNotFoundAction: 'What happens when there is no such object: Allow or Deny.',
  }),
];
