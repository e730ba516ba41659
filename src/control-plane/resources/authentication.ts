import { selfSubjectReviews, tokenReviews } from '../../api/client/resource-types.ts';
import type { SelfSubjectReview } from '../../api/authentication/self-subject-review.ts';
import { SelfSubjectReviewSchema } from '../../api/authentication/self-subject-review.ts';
import type { TokenReview, TokenReviewStatus, UserInfo as UserInfoBody } from '../../api/authentication/token-review.ts';
import { TokenReviewSchema } from '../../api/authentication/token-review.ts';
import { badRequest } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition, ReviewAccess } from '../model/resource-definition.ts';
import type { UserInfo } from '../model/user-info.ts';
import { defineResource } from './define-resource.ts';

/** Reviews are answered, not stored, and checked by whoever answers. */
export const reviewRules = { applyDefaults: <T>(object: T): T => object, validate: () => [], validateUpdate: () => [] };

export function userBody({ name, uid, groups, extra }: UserInfo): UserInfoBody {
  const attributes = Object.entries(extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
  return { username: name, ...(uid && { uid }), ...(groups.length > 0 && { groups: [...groups] }), ...(attributes.length > 0 && { extra: Object.fromEntries(attributes) }) };
}

async function reviewToken({ spec }: TokenReview, access: ReviewAccess): Promise<TokenReviewStatus> {
  const { token = '', audiences = [] } = spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const result = await access.authenticateToken(token, audiences);
  switch (result.outcome) {
    case 'user':
      return { authenticated: true, user: userBody(result.user), ...(result.audiences !== undefined && { audiences: [...result.audiences] }) };
    case 'none':
      return { user: {} };
    case 'failed':
      return { user: {}, error: result.error };
  }
}

const tokenReviewDefinition: ResourceDefinition<TokenReview> = {
  type: tokenReviews,
  singular: 'tokenreview',
  verbs: ['create'],
  schema: TokenReviewSchema,
  hideValues: true,
  storagePath: 'tokenreviews',
  rules: reviewRules,
  review: async (review, access) => ({ ...review, status: await reviewToken(review, access) }),
};

const selfDefinition: ResourceDefinition<SelfSubjectReview> = {
  type: selfSubjectReviews,
  singular: 'selfsubjectreview',
  verbs: ['create'],
  schema: SelfSubjectReviewSchema,
  storagePath: 'selfsubjectreviews',
  rules: reviewRules,
  review: (review, { user }) => Promise.resolve({ ...review, status: { userInfo: userBody(user) } }),
};

export const authenticationResources: readonly ResourceDefinition[] = [defineResource(selfDefinition), defineResource(tokenReviewDefinition)];
