import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { SignJWT } from 'jose';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { silentLogger } from '../../../base/log.ts';
import type { AuthenticationResult } from '../../model/user-info.ts';
import type { HttpJsonAnswer } from '../webhook/http-json.ts';
import { createOidcAuthenticator } from './oidc-authenticator.ts';
import type { OidcOptions } from './oidc-authenticator.ts';

const issuerUrl = 'https://id.example.com';
const pair = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const [first, second] = [pair(), pair()];

function setUp(changes: Partial<OidcOptions> = {}) {
  const clock = new FakeClock();
  const provider = { keys: { one: first } as Record<string, KeyObject>, issuer: issuerUrl, up: true, asked: 0 };
  const jwk = (key: KeyObject, kid: string): object => {
    const { kty, n, e } = key.export({ format: 'jwk' });
    return { kty, n, e, kid, alg: 'RS256', use: 'sig' };
  };
  const fetchJson = (url: string): Promise<HttpJsonAnswer> => {
    provider.asked++;
    if (!provider.up) return Promise.reject(new Error('connection refused'));
    if (url === `${issuerUrl}/.well-known/openid-configuration`)
      return Promise.resolve({ status: 200, body: { issuer: provider.issuer, jwks_uri: `${issuerUrl}/keys` } });
    if (url === `${issuerUrl}/keys`)
      return Promise.resolve({
        status: 200,
        body: { keys: Object.entries(provider.keys).map(([kid, key]) => jwk(key, kid)) },
      });
    return Promise.resolve({ status: 404, body: '' });
  };
  const authenticator = createOidcAuthenticator({
    issuerUrl,
    clientId: 'kubernetes',
    fetchJson,
    clock,
    log: silentLogger,
    ...changes,
  });
  const token = (claims: Record<string, unknown> = {}, kid = 'one', key = first): Promise<string> =>
    new SignJWT({ iss: issuerUrl, aud: 'kubernetes', sub: 'jane', exp: clock.nowMs() / 1000 + 600, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(key);
  const ask = async (claims?: Record<string, unknown>, kid?: string, key?: KeyObject): Promise<AuthenticationResult> =>
    authenticator.authenticateToken(await token(claims, kid, key));
  return { clock, provider, ask, authenticator };
}

const userOf = (result: AuthenticationResult): unknown =>
  result.outcome === 'user'
    ? [result.user.name, ...result.user.groups]
    : result.outcome === 'failed'
      ? result.error
      : result.outcome;

describe('OpenID Connect', () => {
  it('maps claims to user and groups, with prefixes', async () => {
    assert.deepEqual(userOf(await setUp().ask()), [`${issuerUrl}#jane`]);
    assert.deepEqual(userOf(await setUp({ usernamePrefix: '-' }).ask()), ['jane']);
    const mail = setUp({ usernameClaim: 'email', groupsClaim: 'groups', groupsPrefix: 'oidc:' });
    assert.deepEqual(userOf(await mail.ask({ email: 'j@x', groups: ['a', 'b'] })), ['j@x', 'oidc:a', 'oidc:b']);
    assert.deepEqual(userOf(await mail.ask({ email: 'j@x', email_verified: true, groups: 'a' })), ['j@x', 'oidc:a']);
    assert.equal(userOf(await mail.ask({ email: 'j@x', email_verified: false })), 'oidc: email not verified');
    assert.match(String(userOf(await mail.ask({ email: 'j@x', groups: [7] }))), /parse groups claim "groups"/);
    assert.match(String(userOf(await mail.ask())), /parse username claims "email"/);
  });

  it('demands claims', async () => {
    const { ask } = setUp({ requiredClaims: { hd: 'example.com' } });
    assert.equal(userOf(await ask()), 'oidc: required claim hd not present in ID token');
    assert.equal(
      userOf(await ask({ hd: 'evil' })),
      'oidc: required claim hd value does not match. Got = evil, want = example.com',
    );
    assert.deepEqual(userOf(await ask({ hd: 'example.com' })), [`${issuerUrl}#jane`]);
  });

  it('refuses tokens for others, out of time, or of other keys; those of other issuers are not its business', async () => {
    const { ask, clock, authenticator } = setUp();
    assert.match(
      String(userOf(await ask({ aud: ['dashboard'] }))),
      /expected audience "kubernetes" got \["dashboard"\]/,
    );
    assert.match(String(userOf(await ask({ exp: clock.nowMs() / 1000 - 1 }))), /token is expired/);
    assert.match(String(userOf(await ask({ exp: undefined }))), /token is expired/);
    assert.match(String(userOf(await ask({ nbf: clock.nowMs() / 1000 + 301 }))), /before the nbf/);
    assert.match(String(userOf(await ask({}, 'one', second))), /^oidc: verify token: signature verification failed/);
    assert.equal(userOf(await ask({ iss: 'https://other' })), 'none');
    assert.equal(userOf(await authenticator.authenticateToken('abc')), 'none');
    assert.match(String(userOf(await setUp({ signingAlgorithms: ['ES256'] }).ask())), /verify token/);
  });

  it('fetches keys with the first token, and again for a key it does not know, but not at anybody’s pace', async () => {
    const { ask, clock, provider } = setUp();
    assert.equal(provider.asked, 0);
    await ask();
    await ask();
    assert.equal(provider.asked, 2);
    provider.keys = { one: first, two: second };
    assert.match(String(userOf(await ask({}, 'two', second))), /verify token/, 'too soon after the last time');
    await clock.advance(10_000);
    assert.deepEqual(userOf(await ask({}, 'two', second)), [`${issuerUrl}#jane`]);
    assert.equal(provider.asked, 4);
  });

  it('lives through a provider that is down, and does not believe one with another name', async () => {
    const { ask, clock, provider } = setUp();
    provider.up = false;
    assert.match(String(userOf(await ask())), /connection refused/);
    provider.up = true;
    await clock.advance(10_000);
    assert.deepEqual(userOf(await ask()), [`${issuerUrl}#jane`]);
    provider.up = false;
    await clock.advance(3_600_000);
    assert.deepEqual(
      userOf(await ask({ exp: clock.nowMs() / 1000 + 60 })),
      [`${issuerUrl}#jane`],
      'known keys stay good',
    );
    const other = setUp();
    other.provider.issuer = 'https://evil';
    assert.match(String(userOf(await other.ask())), /calls itself "https:\/\/evil"/);
  });

  it('refuses options that cannot work', () => {
    assert.throws(() => setUp({ issuerUrl: 'http://id.example.com' }), /must be an https URL/);
    assert.throws(() => setUp({ clientId: '' }), /client id/);
    assert.throws(() => setUp({ signingAlgorithms: ['HS256'] }), /unsupported signing alg: "HS256"/);
  });
});
