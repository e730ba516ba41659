import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { UserInfoSchema, TokenReviewSpecSchema, TokenReviewStatusSchema, TokenReviewSchema } from './token-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(UserInfoSchema, 'A user as the API server authenticated it.', {
    username: 'The name of the user.',
    uid: 'The id of the user. A later user with the same name has another.',
    groups: 'The groups of the user.',
    extra: 'Other attributes of the user from the authenticator.',
  }),
  describe(TokenReviewSpecSchema, 'The token to check.', {
    token: 'The token, as sent in the Authorization header.',
    audiences:
      'The audiences of the program that received the token; the token must be valid for one of them. Empty: the API server.',
  }),
  describe(TokenReviewStatusSchema, 'The result of the check.', {
    authenticated: 'Whether the token is valid.',
    user: 'The user of the token.',
    audiences: 'The requested audiences for which the token is valid.',
    error: 'Why the token could not be checked.',
  }),
  describe(TokenReviewSchema, 'Checks a token and returns its user.', {
    spec: 'The token to check.',
    status: 'The result.',
  }),
];
