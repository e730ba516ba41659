import type { AuthenticationRequest, Authenticator, TokenAuthenticator } from '../model/user-info.ts';

/** Authenticates `Authorization: Bearer`, and the token that browsers send as a WebSocket subprotocol. */
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
