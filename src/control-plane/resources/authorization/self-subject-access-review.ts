import type { SelfSubjectAccessReview } from '../../../api/authorization/self-subject-access-review.ts';
import { SelfSubjectAccessReviewSchema } from '../../../api/authorization/self-subject-access-review.ts';
import { selfSubjectAccessReviews } from '../../../api/client/resource-types.ts';
import { validateSelfSubjectAccessReview } from '../../../api/validation/access/validate-access-review.ts';
import { defineResource } from '../define-resource.ts';
import { accessReviewBasics, decideAccess, refuseInvalid } from './decide-access.ts';

export const selfSubjectAccessReviewResource = defineResource<SelfSubjectAccessReview>({
  ...accessReviewBasics,
  type: selfSubjectAccessReviews,
  singular: 'selfsubjectaccessreview',
  schema: SelfSubjectAccessReviewSchema,
  storagePath: 'selfsubjectaccessreviews',
  review: async (review, access) => {
    refuseInvalid('SelfSubjectAccessReview', validateSelfSubjectAccessReview(review));
    return { ...review, status: await decideAccess(access.user, review.spec, access) };
  },
});
