import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ResourceRuleSchema,
  NonResourceRuleSchema,
  SelfSubjectRulesReviewSpecSchema,
  SubjectRulesReviewStatusSchema,
  SelfSubjectRulesReviewSchema,
} from './self-subject-rules-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(ResourceRuleSchema, 'A permission for resources.', {
    verbs: 'The verbs; * for all.',
    apiGroups: 'The API groups; * for all.',
    resources: 'The resources; * for all.',
    resourceNames: 'The names of the objects. Empty: all.',
  }),
  describe(NonResourceRuleSchema, 'A permission for paths that are not resources.', {
    verbs: 'The verbs; * for all.',
    nonResourceURLs: 'The paths; * at the end matches any suffix.',
  }),
  describe(SelfSubjectRulesReviewSpecSchema, 'The namespace to check.', {
    namespace: 'The namespace. Required.',
  }),
  describe(SubjectRulesReviewStatusSchema, 'The permissions of the user in the namespace.', {
    resourceRules: 'The permissions for resources.',
    nonResourceRules: 'The permissions for paths that are not resources.',
    incomplete: 'Whether the lists are incomplete, because an authorizer cannot list its permissions.',
    evaluationError: 'Why the lists are incomplete.',
  }),
  describe(
    SelfSubjectRulesReviewSchema,
    'Lists the permissions of the user that sends this object, in one namespace.',
    {
      spec: 'The namespace to check.',
      status: 'The result.',
    },
  ),
];
