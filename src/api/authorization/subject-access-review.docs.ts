import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { SubjectAccessReviewSchema } from './subject-access-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(SubjectAccessReviewSchema, 'Checks whether a user may do something.', {
    spec: 'The request to check.',
    status: 'The result.',
  }),
];
