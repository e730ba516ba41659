import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  FlowDistinguisherMethodSchema,
  FlowSchemaConditionSchema,
  FlowSchemaSchema,
  FlowSchemaSpecSchema,
  FlowSchemaStatusSchema,
  GroupSubjectSchema,
  NonResourcePolicyRuleSchema,
  PolicyRulesWithSubjectsSchema,
  PriorityLevelConfigurationReferenceSchema,
  ResourcePolicyRuleSchema,
  ServiceAccountSubjectSchema,
  SubjectSchema,
  UserSubjectSchema,
} from './flow-schema.ts';

const VERBS = 'The verbs, or `*` alone for all.';

export const docs: readonly TypeDocs[] = [
  describe(UserSubjectSchema, 'A user.', { name: 'The name of the user, or `*` for every user.' }),
  describe(GroupSubjectSchema, 'A group of users.', { name: 'The name of the group, or `*` for every group.' }),
  describe(ServiceAccountSubjectSchema, 'A service account.', {
    namespace: 'The namespace of the account.',
    name: 'The name of the account, or `*` for every account of the namespace.',
  }),
  describe(SubjectSchema, 'Who sends a request. The field of the kind is set, and no other.', {
    kind: 'User, Group or ServiceAccount.',
    user: 'The user.',
    group: 'The group.',
    serviceAccount: 'The service account.',
  }),
  describe(ResourcePolicyRuleSchema, 'Requests for resources. A request matches if each list matches.', {
    verbs: VERBS,
    apiGroups: 'The API groups, or `*` alone for all.',
    resources: 'The resources, `resource` or `resource/subresource`, or `*` alone for all.',
    clusterScope: 'Whether requests without a namespace match. Default false.',
    namespaces: 'The namespaces, or `*` alone for all. Needed unless clusterScope is true.',
  }),
  describe(NonResourcePolicyRuleSchema, 'Requests for paths that are no resources.', {
    verbs: VERBS,
    nonResourceURLs: 'The paths, such as `/healthz` or `/healthz/*`, or `*` alone for all.',
  }),
  describe(PolicyRulesWithSubjectsSchema, 'Requests of some subjects.', {
    subjects: 'The users who send the requests. At least one.',
    resourceRules: 'Requests for resources. At least one rule of either kind is needed.',
    nonResourceRules: 'Requests for other paths.',
  }),
  describe(PriorityLevelConfigurationReferenceSchema, 'A priority level.', {
    name: 'The name of the PriorityLevelConfiguration.',
  }),
  describe(FlowDistinguisherMethodSchema, 'How requests of a FlowSchema are divided into flows.', {
    type: 'ByUser or ByNamespace.',
  }),
  describe(FlowSchemaSpecSchema, 'Which requests a FlowSchema matches, and their priority level.', {
    priorityLevelConfiguration: 'The priority level of the requests.',
    matchingPrecedence:
      'If several schemas match a request, the one with the lowest number is used; if numbers are equal, the first by name. From 1 to 10000. Default 1000.',
    distinguisherMethod: 'How the requests are divided into flows. Absent: all of them are one flow.',
    rules: 'The requests. A request matches if one rule matches.',
  }),
  describe(FlowSchemaConditionSchema, 'A condition of a FlowSchema.', {
    type: 'The type: Dangling, whether the priority level is missing.',
    status: 'True, False or Unknown.',
    lastTransitionTime: 'When the status changed last.',
    reason: 'The reason of the status, as one CamelCase word.',
    message: 'The reason of the status, as a text for people.',
  }),
  describe(FlowSchemaStatusSchema, 'The state of a FlowSchema.', { conditions: 'Its conditions.' }),
  describe(FlowSchemaSchema, 'Assigns requests to a priority level and divides them into flows.', {}),
];
