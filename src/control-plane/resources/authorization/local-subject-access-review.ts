import type { LocalSubjectAccessReview } from '../../../api/authorization/local-subject-access-review.ts';
import { LocalSubjectAccessReviewSchema } from '../../../api/authorization/local-subject-access-review.ts';
import { localSubjectAccessReviews } from '../../../api/client/resource-types.ts';
import { validateLocalSubjectAccessReview } from '../../../api/validation/access/validate-access-review.ts';
import { defineResource } from '../define-resource.ts';
import { accessReviewBasics, decideAccess, refuseInvalid, subjectOf } from './decide-access.ts';

export const localSubjectAccessReviewResource = defineResource<LocalSubjectAccessReview>({
  ...accessReviewBasics,
  type: localSubjectAccessReviews,
  singular: 'localsubjectaccessreview',
  schema: LocalSubjectAccessReviewSchema,
  storagePath: 'localsubjectaccessreviews',
  review: async (review, access) => {
    refuseInvalid('LocalSubjectAccessReview', validateLocalSubjectAccessReview(review));
    return { ...review, status: await decideAccess(subjectOf(review.spec), review.spec, access) };
  },
});
