import type { SelfSubjectRulesReview } from '../../../api/authorization/self-subject-rules-review.ts';
import { SelfSubjectRulesReviewSchema } from '../../../api/authorization/self-subject-rules-review.ts';
import { selfSubjectRulesReviews } from '../../../api/client/resource-types.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import { defineResource } from '../define-resource.ts';
import { accessReviewBasics } from './decide-access.ts';

export const selfSubjectRulesReviewResource = defineResource<SelfSubjectRulesReview>({
  ...accessReviewBasics,
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
});
