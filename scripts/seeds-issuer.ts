// An OpenID Connect issuer for docs/seeds.md: discovery, keys, and a token for who asks, over TLS on loopback.
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const HOUR_MS = 3_600_000;

/** `pair`: PEM. A GET of `/token` answers with the token of dora, who is one of the readers. */
export async function startIssuer(port: number, pair: { readonly cert: Buffer; readonly key: Buffer }): Promise<void> {
  const issuer = `https://127.0.0.1:${port}`;
  const keys = await generateKeyPair('RS256');
  const shown = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const token = (): Promise<string> =>
    new SignJWT({
      iss: issuer,
      aud: 'kubernetes',
      sub: 'subject-of-dora',
      preferred_username: 'dora',
      groups: ['readers'],
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setExpirationTime(new Date(Date.now() + HOUR_MS))
      .sign(keys.privateKey);
  const bodyOf = (path: string | undefined): Promise<string> => {
    if (path === '/token') return token();
    return Promise.resolve(
      JSON.stringify(path === '/keys' ? { keys: [shown] } : { issuer, jwks_uri: `${issuer}/keys` }),
    );
  };
  const server = createServer(pair, (request, response) => {
    bodyOf(request.url).then(
      (body) => void response.setHeader('content-type', 'application/json').end(body),
      () => response.destroy(),
    );
  });
  server.listen(port, '127.0.0.1');
}
