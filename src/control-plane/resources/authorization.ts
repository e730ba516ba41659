import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from '../../api/client/resource-types.ts';
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '../../api/authorization/access-review.ts';
import type { LocalSubjectAccessReview } from '../../api/authorization/local-subject-access-review.ts';
import { LocalSubjectAccessReviewSchema } from '../../api/authorization/local-subject-access-review.ts';
import type { SelfSubjectAccessReview } from '../../api/authorization/self-subject-access-review.ts';
import { SelfSubjectAccessReviewSchema } from '../../api/authorization/self-subject-access-review.ts';
import type { SelfSubjectRulesReview } from '../../api/authorization/self-subject-rules-review.ts';
import { SelfSubjectRulesReviewSchema } from '../../api/authorization/self-subject-rules-review.ts';
import type { SubjectAccessReview } from '../../api/authorization/subject-access-review.ts';
import { SubjectAccessReviewSchema } from '../../api/authorization/subject-access-review.ts';
import { parseFieldSelector, parseLabelSelector } from '../../api/selectors.ts';
import { badRequest, invalid } from '../../api/status/api-status-error.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import {
  validateLocalSubjectAccessReview,
  validateSelfSubjectAccessReview,
  validateSubjectAccessReview,
} from '../../api/validation/access/validate-access-review.ts';
import type { ResourceDefinition, ReviewAccess } from '../model/resource-definition.ts';
import type { AuthorizationAttributes, UserInfo } from '../model/user-info.ts';
import { reviewRules } from './authentication.ts';
import { selectorText } from './cells.ts';
import { defineResource } from './define-resource.ts';

interface Asked {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
}

/** What of a selector authorizers can use, as text; the rest is left out, which asks for more, never for less. */
interface Selection {
  readonly text?: string;
  readonly problem?: 'ignored' | 'partially ignored';
}

async function decide(user: UserInfo, asked: Asked, access: ReviewAccess): Promise<SubjectAccessReviewStatus> {
  const fields = fieldSelection(asked.resourceAttributes?.fieldSelector);
  const labels = labelSelection(asked.resourceAttributes?.labelSelector);
  const { decision, reason, evaluationError } = await access.authorize(attributesOf(user, asked, fields, labels));
  const problems = [
    ...(evaluationError === undefined ? [] : [evaluationError]),
    ...(fields.problem === undefined
      ? []
      : [`spec.resourceAttributes.fieldSelector ${fields.problem} due to parse error`]),
    ...(labels.problem === undefined
      ? []
      : [`spec.resourceAttributes.labelSelector ${labels.problem} due to parse error`]),
  ];
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(problems.length > 0 && { evaluationError: problems.join('; ') }),
  };
}

function attributesOf(
  user: UserInfo,
  { resourceAttributes, nonResourceAttributes }: Asked,
  fields: Selection,
  labels: Selection,
): AuthorizationAttributes {
  if (resourceAttributes === undefined) {
    const { path = '', verb = '' } = nonResourceAttributes ?? {};
    return {
      user,
      verb,
      resourceRequest: false,
      apiGroup: '',
      apiVersion: '',
      resource: '',
      subresource: '',
      namespace: '',
      name: '',
      path,
    };
  }
  const {
    verb = '',
    group = '',
    version = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
  } = resourceAttributes;
  return {
    user,
    verb,
    resourceRequest: true,
    apiGroup: group,
    apiVersion: version || '*',
    resource,
    subresource,
    namespace,
    name,
    path: '',
    ...(fields.text !== undefined && { fieldSelector: fields.text }),
    ...(labels.text !== undefined && { labelSelector: labels.text }),
  };
}

function fieldSelection(selector: FieldSelectorAttributes | undefined): Selection {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (rawSelector !== '')
    return typeof parseFieldSelector(rawSelector) === 'string' ? { problem: 'ignored' } : { text: rawSelector };
  const usable = requirements.filter(
    ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') && values.length === 1,
  );
  const text = usable
    .map(({ key, operator, values = [] }) => `${key}${operator === 'In' ? '=' : '!='}${escapeValue(values[0] ?? '')}`)
    .join(',');
  return selectionOf(text, requirements.length - usable.length);
}

const escapeValue = (value: string): string => value.replace(/[\\,=]/g, (sign) => `\\${sign}`);

function labelSelection(selector: LabelSelectorAttributes | undefined): Selection {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (rawSelector !== '')
    return typeof parseLabelSelector(rawSelector) === 'string' ? { problem: 'ignored' } : { text: rawSelector };
  const usable = requirements.filter(({ operator }) => ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator));
  return selectionOf(selectorText({ matchExpressions: usable }), requirements.length - usable.length);
}

function selectionOf(text: string, unusable: number): Selection {
  return {
    ...(text !== '' && { text }),
    ...(unusable > 0 && { problem: text === '' ? 'ignored' : 'partially ignored' }),
  };
}

const subjectOf = ({ user = '', groups = [], uid, extra }: SubjectAccessReviewSpec): UserInfo => ({
  name: user,
  groups,
  ...(uid && { uid }),
  ...(extra !== undefined && { extra }),
});

function refuse(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', kind }, '', errors);
}

const common = { verbs: ['create'], rules: reviewRules } as const;

const subjectDefinition: ResourceDefinition<SubjectAccessReview> = {
  ...common,
  type: subjectAccessReviews,
  singular: 'subjectaccessreview',
  schema: SubjectAccessReviewSchema,
  storagePath: 'subjectaccessreviews',
  review: async (review, access) => {
    refuse('SubjectAccessReview', validateSubjectAccessReview(review));
    return { ...review, status: await decide(subjectOf(review.spec), review.spec, access) };
  },
};

const localDefinition: ResourceDefinition<LocalSubjectAccessReview> = {
  ...common,
  type: localSubjectAccessReviews,
  singular: 'localsubjectaccessreview',
  schema: LocalSubjectAccessReviewSchema,
  storagePath: 'localsubjectaccessreviews',
  review: async (review, access) => {
    refuse('LocalSubjectAccessReview', validateLocalSubjectAccessReview(review));
    return { ...review, status: await decide(subjectOf(review.spec), review.spec, access) };
  },
};

const selfDefinition: ResourceDefinition<SelfSubjectAccessReview> = {
  ...common,
  type: selfSubjectAccessReviews,
  singular: 'selfsubjectaccessreview',
  schema: SelfSubjectAccessReviewSchema,
  storagePath: 'selfsubjectaccessreviews',
  review: async (review, access) => {
    refuse('SelfSubjectAccessReview', validateSelfSubjectAccessReview(review));
    return { ...review, status: await decide(access.user, review.spec, access) };
  },
};

const rulesDefinition: ResourceDefinition<SelfSubjectRulesReview> = {
  ...common,
  type: selfSubjectRulesReviews,
  singular: 'selfsubjectrulesreview',
  schema: SelfSubjectRulesReviewSchema,
  storagePath: 'selfsubjectrulesreviews',
  review: async (review, access) => {
    const { namespace = '' } = review.spec;
    if (namespace === '') throw badRequest('no namespace on request');
    const { resourceRules, nonResourceRules, incomplete, evaluationError } = await access.rulesFor(
      access.user,
      namespace,
    );
    // Upstream answers with the status alone.
    return {
      ...review,
      spec: {},
      status: {
        resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
          verbs: [...verbs],
          ...(apiGroups.length > 0 && { apiGroups: [...apiGroups] }),
          ...(resources.length > 0 && { resources: [...resources] }),
          ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
        })),
        nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
          verbs: [...verbs],
          ...(nonResourceURLs.length > 0 && { nonResourceURLs: [...nonResourceURLs] }),
        })),
        incomplete,
        ...(evaluationError !== undefined && { evaluationError }),
      },
    };
  },
};

export const authorizationResources: readonly ResourceDefinition[] = [
  defineResource(localDefinition),
  defineResource(selfDefinition),
  defineResource(rulesDefinition),
  defineResource(subjectDefinition),
];
