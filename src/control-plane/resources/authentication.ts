import { selfSubjectReviews, tokenReviews } from '../../api/client/resource-types.ts';
import type { SelfSubjectReview } from '../../api/authentication/self-subject-review.ts';
import { SelfSubjectReviewSchema } from '../../api/authentication/self-subject-review.ts';
import type {
  TokenReview,
  TokenReviewStatus,
  UserInfo as UserInfoBody,
} from '../../api/authentication/token-review.ts';
import { TokenReviewSchema } from '../../api/authentication/token-review.ts';
import { badRequest } from '../../api/status/api-status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { ResourceDefinition, ReviewAccess } from '../model/resource-definition.ts';
import type { UserInfo } from '../model/user-info.ts';
import { defineResource } from './define-resource.ts';

/** Reviews are answered, not stored, and checked by whoever answers. */
export const reviewRules = { applyDefaults: <T>(object: T): T => object, validate: () => [], validateUpdate: () => [] };

export function userBody({ name, uid, groups, extra }: UserInfo): UserInfoBody {
  const attributes = Object.entries(extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(attributes.length > 0 && { extra: Object.fromEntries(attributes) }),
  };
}

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
      // Nobody knows it; upstream's bearer tokens say so in these words.
      return { user: {}, error: 'invalid bearer token' };
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
  // Upstream answers with an object of its own that has a time and no other metadata.
  review: ({ metadata, ...review }, { user }, { nowMs }) =>
    Promise.resolve({
      ...review,
      metadata: { ...metadata, creationTimestamp: formatTime(nowMs) },
      status: { userInfo: userBody(user) },
    }),
};

export const authenticationResources: readonly ResourceDefinition[] = [
  defineResource(selfDefinition),
  defineResource(tokenReviewDefinition),
];
