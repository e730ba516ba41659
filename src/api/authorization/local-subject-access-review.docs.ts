import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { LocalSubjectAccessReviewSchema } from './local-subject-access-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(LocalSubjectAccessReviewSchema, 'Checks whether a user may do something in one namespace.', {
    spec: 'The request to check; its namespace must be that of this object.',
    status: 'The result.',
  }),
];
