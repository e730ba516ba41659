import { goAggregate } from '../../../api/go-aggregate.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';

/** Calls the authenticators until one recognizes the token. The errors of the others are reported only if none does. */
export function unionTokenAuthenticator(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    name: 'tokens',
    authenticateToken: async (token, audiences): Promise<AuthenticationResult> => {
      const errors: string[] = [];
      for (const authenticator of authenticators) {
        const result = await authenticator.authenticateToken(token, audiences);
        if (result.outcome === 'user') return result;
        if (result.outcome === 'failed') errors.push(result.error);
      }
      return errors.length === 0 ? { outcome: 'none' } : { outcome: 'failed', error: goAggregate(errors) };
    },
  };
}

/**
 * Restricts an authenticator without audience support to the API server's audiences: for others it does not recognize
 * the token (upstream: authenticator.WrapAudienceAgnosticToken).
 */
export function withOwnAudiences(authenticator: TokenAuthenticator, own: readonly string[]): TokenAuthenticator {
  return {
    name: authenticator.name,
    authenticateToken: async (token, audiences) => {
      const asked = audiences ?? own;
      const common = asked.filter((audience) => own.includes(audience));
      if (own.length > 0 && common.length === 0) return { outcome: 'none' };
      const result = await authenticator.authenticateToken(token, audiences);
      return result.outcome === 'user' ? { ...result, audiences: common } : result;
    },
  };
}
