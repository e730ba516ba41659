// An OpenID Connect issuer in its own process: discovery and keys over TLS, and tokens on request. usage: node
// oidc-issuer.ts CERTIFICATE KEY   (prints its port; POST / with claims returns a token)
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

interface Wanted {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Signed with a key that the issuer does not publish. */
  readonly forged?: boolean;
  readonly expiresAtSeconds: number;
}

const [certificate = '', key = ''] = process.argv.slice(2);
const [own, strange] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
const shown = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };

const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) => {
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = (body: unknown): void => void response.setHeader('content-type', 'application/json').end(body);
  if (request.method === 'GET')
    return answer(JSON.stringify(request.url === '/keys' ? { keys: [shown] } : { issuer, jwks_uri: `${issuer}/keys` }));
  text(request)
    .then((body) => {
      const { claims, forged, expiresAtSeconds } = JSON.parse(body) as Wanted;
      return new SignJWT({ iss: issuer, aud: 'kubernetes', sub: 'subject', ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setExpirationTime(expiresAtSeconds)
        .sign(forged === true ? strange.privateKey : own.privateKey);
    })
    .then(answer, () => response.destroy());
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
