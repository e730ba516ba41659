import { goAggregate } from '../../api/go-aggregate.ts';
import type { AuthenticationRequest, AuthenticationResult, Authenticator, TokenAuthenticator, UserInfo } from '../model/user-info.ts';

const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export interface RequestAuthenticatorOptions {
  /** In the order they are asked. */
  readonly authenticators: readonly Authenticator[];
  /** Who brings no credentials at all is `system:anonymous`, rather than refused. */
  readonly anonymous: boolean;
}

/**
 * Who asks: the first that knows. Whose credentials are wrong is not taken for anonymous, and everybody who is known is in `system:authenticated`
 * (upstream: pkg/kubeapiserver/authenticator).
 */
export function createRequestAuthenticator({ authenticators, anonymous }: RequestAuthenticatorOptions): Authenticator {
  return {
    name: 'request',
    authenticate: async (request): Promise<AuthenticationResult> => {
      const errors: string[] = [];
      for (const authenticator of authenticators) {
        const result = await authenticator.authenticate(request);
        if (result.outcome === 'user') return { ...result, user: withAuthenticatedGroup(result.user) };
        if (result.outcome === 'failed') errors.push(result.error);
      }
      if (errors.length > 0) return { outcome: 'failed', error: goAggregate(errors) };
      return anonymous ? { outcome: 'user', user: ANONYMOUS } : { outcome: 'none' };
    },
  };
}

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.name === ANONYMOUS.name || user.groups.includes('system:authenticated') || user.groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, 'system:authenticated'] };
}

/** `Authorization: Bearer`, and the token that WebSocket clients of browsers put into a subprotocol. */
export function createBearerAuthenticator(tokens: TokenAuthenticator): Authenticator {
  return {
    name: 'bearer token',
    authenticate: async (request) => {
      const token = bearerToken(request);
      if (token === undefined) return { outcome: 'none' };
      const result = await tokens.authenticateToken(token);
      return result.outcome === 'none' ? { outcome: 'failed', error: 'invalid bearer token' } : result;
    },
  };
}

function bearerToken({ authorization, webSocketToken }: AuthenticationRequest): string | undefined {
  const [scheme, token] = (authorization ?? '').trim().split(' ', 2);
  if (scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '') return token;
  return webSocketToken === '' ? undefined : webSocketToken;
}
