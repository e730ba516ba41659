import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';

/**
 * Returns the result of a TokenReview: the user as for a request with that token, including the group
 * `system:authenticated`. Without audiences in the review, the token must be valid for the API server.
 */
export function tokenReviewer(
  tokens: TokenAuthenticator,
  apiAudiences: readonly string[],
): (token: string, audiences: readonly string[]) => Promise<AuthenticationResult> {
  return async (token, audiences) => {
    const result = await tokens.authenticateToken(token, audiences.length === 0 ? apiAudiences : audiences);
    if (result.outcome === 'none') return { outcome: 'failed', error: 'invalid bearer token' };
    if (result.outcome === 'failed' || result.user.groups.includes('system:authenticated')) return result;
    return { ...result, user: { ...result.user, groups: [...result.user.groups, 'system:authenticated'] } };
  };
}
