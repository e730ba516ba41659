import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { SelfSubjectReviewStatusSchema, SelfSubjectReviewSchema } from './self-subject-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(SelfSubjectReviewStatusSchema, 'The user that sent the request.', {
    userInfo: 'The attributes of the user.',
  }),
  describe(SelfSubjectReviewSchema, 'Returns the user that sends the request, as the API server authenticated it.', {}),
];
