import type { SubjectAccessReview } from '../../../api/authorization/subject-access-review.ts';
import { SubjectAccessReviewSchema } from '../../../api/authorization/subject-access-review.ts';
import { subjectAccessReviews } from '../../../api/client/resource-types.ts';
import { validateSubjectAccessReview } from '../../../api/validation/access/validate-access-review.ts';
import { defineResource } from '../define-resource.ts';
import { accessReviewBasics, decideAccess, refuseInvalid, subjectOf } from './decide-access.ts';

export const subjectAccessReviewResource = defineResource<SubjectAccessReview>({
  ...accessReviewBasics,
  type: subjectAccessReviews,
  singular: 'subjectaccessreview',
  schema: SubjectAccessReviewSchema,
  storagePath: 'subjectaccessreviews',
  review: async (review, access) => {
    refuseInvalid('SubjectAccessReview', validateSubjectAccessReview(review));
    return { ...review, status: await decideAccess(subjectOf(review.spec), review.spec, access) };
  },
});
