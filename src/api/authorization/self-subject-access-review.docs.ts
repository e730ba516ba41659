import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { SelfSubjectAccessReviewSpecSchema, SelfSubjectAccessReviewSchema } from './self-subject-access-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    SelfSubjectAccessReviewSpecSchema,
    'The request to check. Either resourceAttributes or nonResourceAttributes.',
    {
      resourceAttributes: 'The request, if it is for a resource.',
      nonResourceAttributes: 'The request, if it is for a path that is not a resource.',
    },
  ),
  describe(SelfSubjectAccessReviewSchema, 'Checks whether the user that sends this object may do something.', {
    spec: 'The request to check.',
    status: 'The result.',
  }),
];
