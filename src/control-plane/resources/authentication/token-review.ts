import type { TokenReview, TokenReviewStatus } from '../../../api/authentication/token-review.ts';
import { TokenReviewSchema } from '../../../api/authentication/token-review.ts';
import { tokenReviews } from '../../../api/client/resource-types.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { ReviewAccess } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';
import { reviewRules } from '../review-rules.ts';
import { userBody } from './user-body.ts';

async function reviewToken({ spec }: TokenReview, access: ReviewAccess): Promise<TokenReviewStatus> {
  const { token = '', audiences = [] } = spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const result = await access.authenticateToken(token, audiences);
  switch (result.outcome) {
    case 'user':
      return {
        authenticated: true,
        user: userBody(result.user),
        ...(result.audiences !== undefined && { audiences: [...result.audiences] }),
      };
    case 'none':
      // No authenticator knows the token. The message is that of upstream's bearer tokens.
      return { user: {}, error: 'invalid bearer token' };
    case 'failed':
      return { user: {}, error: result.error };
  }
}

export const tokenReviewResource = defineResource<TokenReview>({
  type: tokenReviews,
  singular: 'tokenreview',
  verbs: ['create'],
  schema: TokenReviewSchema,
  hideValues: true,
  storagePath: 'tokenreviews',
  rules: reviewRules,
  review: async (review, access) => ({ ...review, status: await reviewToken(review, access) }),
});
