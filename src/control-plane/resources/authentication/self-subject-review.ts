import type { SelfSubjectReview } from '../../../api/authentication/self-subject-review.ts';
import { SelfSubjectReviewSchema } from '../../../api/authentication/self-subject-review.ts';
import { selfSubjectReviews } from '../../../api/client/resource-types.ts';
import { formatTime } from '../../../api/time.ts';
import { defineResource } from '../define-resource.ts';
import { reviewRules } from '../review-rules.ts';
import { userBody } from './user-body.ts';

export const selfSubjectReviewResource = defineResource<SelfSubjectReview>({
  type: selfSubjectReviews,
  singular: 'selfsubjectreview',
  verbs: ['create'],
  schema: SelfSubjectReviewSchema,
  storagePath: 'selfsubjectreviews',
  rules: reviewRules,
  // Upstream answers with an object of its own that has a time and no other metadata.
  review: ({ metadata, ...review }, { user }, { nowMs }) =>
    Promise.resolve({
      ...review,
      metadata: { ...metadata, creationTimestamp: formatTime(nowMs) },
      status: { userInfo: userBody(user) },
    }),
});
