import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { SignJWT } from 'jose';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { silentLogger } from '../../../base/log.ts';
import type { AuthenticationResult } from '../../model/user-info.ts';
import type { HttpJsonAnswer } from '../webhook/http-json.ts';
import type { CompiledJwt } from '../configuration/validate-authentication-configuration.ts';
import { IssuerSet } from './issuer-set.ts';
import { createOidcAuthenticator } from './oidc-authenticator.ts';
import type { OidcOptions } from './oidc-authenticator.ts';
import type { JwtAuthenticator } from '../configuration/authentication-configuration.ts';
import { validateAuthenticationConfiguration } from '../configuration/validate-authentication-configuration.ts';
import { formatFieldError } from '../../../api/validation/field-error.ts';

const issuerUrl = 'https://id.example.com';
const pair = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const [first, second] = [pair(), pair()];

type Jwt = JwtAuthenticator;
const claimed = (claim: string, prefix = ''): { claim: string; prefix: string } => ({ claim, prefix });
const byDefault: Jwt = {
  issuer: { url: issuerUrl, audiences: ['kubernetes'] },
  claimMappings: { username: claimed('sub', `${issuerUrl}#`) },
};

function setUp(changes: Jwt = {}, options: Partial<OidcOptions> = {}) {
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
  const { errors, issuers } = validateAuthenticationConfiguration({ jwt: [{ ...byDefault, ...changes }] }, []);
  const [compiled] = issuers;
  assert.deepEqual(errors.map(formatFieldError), []);
  assert.ok(compiled);
  const authenticator = createOidcAuthenticator({
    compiled,
    algorithms: ['RS256'],
    fetchJson,
    clock,
    log: silentLogger,
    ...options,
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
    assert.deepEqual(userOf(await setUp({ claimMappings: { username: claimed('sub') } }).ask()), ['jane']);
    const mail = setUp({ claimMappings: { username: claimed('email'), groups: claimed('groups', 'oidc:') } });
    assert.deepEqual(userOf(await mail.ask({ email: 'j@x', groups: ['a', 'b'] })), ['j@x', 'oidc:a', 'oidc:b']);
    assert.deepEqual(userOf(await mail.ask({ email: 'j@x', email_verified: true, groups: 'a' })), ['j@x', 'oidc:a']);
    assert.equal(userOf(await mail.ask({ email: 'j@x', email_verified: false })), 'oidc: email not verified');
    assert.match(String(userOf(await mail.ask({ email: 'j@x', groups: [7] }))), /parse groups claim "groups"/);
    assert.match(String(userOf(await mail.ask())), /parse username claims "email"/);
  });

  it('demands claims', async () => {
    const { ask } = setUp({ claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }] });
    assert.equal(userOf(await ask()), 'oidc: required claim hd not present in ID token');
    assert.equal(
      userOf(await ask({ hd: 'evil' })),
      'oidc: required claim hd value does not match. Got = evil, want = example.com',
    );
    assert.deepEqual(userOf(await ask({ hd: 'example.com' })), [`${issuerUrl}#jane`]);
  });

  it('refuses tokens with another audience, outside their validity, or with other keys; ignores tokens of other issuers', async () => {
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
    assert.match(String(userOf(await setUp({}, { algorithms: ['ES256'] }).ask())), /verify token/);
  });

  it('fetches keys with the first token, and again for an unknown key, at a limited rate', async () => {
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

  it('survives a provider outage, and does not trust a provider with another name', async () => {
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
    assert.match(String(userOf(await other.ask())), /names the issuer "https:\/\/evil"/);
  });

  it('refuses algorithms that are not allowed', () => {
    assert.throws(() => setUp({}, { algorithms: ['HS256'] }), /unsupported signing alg: "HS256"/);
  });

  it("maps claims by expressions to the user's attributes", async () => {
    const { ask } = setUp({
      claimMappings: {
        username: { expression: "claims.sub + ':external'" },
        groups: { expression: "claims.roles.split(',')" },
        uid: { expression: 'claims.id.orValue("none")'.replace('claims.id', 'claims.?id') },
        extra: [
          { key: 'example.org/level', valueExpression: 'string(claims.level)' },
          { key: 'example.org/none', valueExpression: "''" },
        ],
      },
    });
    assert.deepEqual(await ask({ roles: 'a,b,', level: 3, jti: 'x' }), {
      outcome: 'user',
      user: {
        name: 'jane:external',
        groups: ['a', 'b'],
        uid: 'none',
        extra: { 'authentication.kubernetes.io/credential-id': ['JTI=x'], 'example.org/level': ['3'] },
      },
    });
    assert.equal(
      userOf(await ask()),
      "oidc: error evaluating group claim expression: expression 'claims.roles.split(',')' resulted in error: no such key: roles",
    );
  });

  it("refuses tokens and users for which a rule is false, with the rule's message", async () => {
    const { ask } = setUp({
      claimValidationRules: [{ expression: "claims.tenant__dash__id == 'one'", message: 'wrong tenant' }],
      userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: 'reserved name' }],
      claimMappings: { username: claimed('sub') },
    });
    assert.deepEqual(userOf(await ask({ 'tenant-id': 'one' })), ['jane']);
    assert.equal(
      userOf(await ask({ 'tenant-id': 'two' })),
      "oidc: error evaluating claim validation expression: validation expression 'claims.tenant__dash__id == 'one'' failed: wrong tenant",
    );
    assert.equal(
      userOf(await ask({ 'tenant-id': 'one', sub: 'system:admin' })),
      "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('system:')' failed: reserved name",
    );
  });

  it('refuses expressions that do not return a string, and an empty username', async () => {
    const by = (expression: string) => setUp({ claimMappings: { username: { expression } } });
    assert.match(String(userOf(await by('claims.exp').ask())), /username claim expression must return a string/);
    assert.match(String(userOf(await by("''").ask())), /empty username via CEL expression is not allowed/);
  });

  it('refuses a token for which an expression costs too much', async () => {
    const by = (expression: string) =>
      setUp({ claimValidationRules: [{ expression }], claimMappings: { username: claimed('sub') } });
    const groups = Array.from({ length: 10_000 }, (_, index) => `group-${index}`);
    const tooMuch = /resulted in error: operation cancelled: actual cost limit exceeded$/;
    const costly = by('claims.groups.all(a, claims.groups.all(b, a != b || a == b))');
    assert.match(String(userOf(await costly.ask({ groups }))), tooMuch);
    assert.deepEqual(userOf(await costly.ask({ groups: groups.slice(0, 10) })), ['jane']);
    const repeated = by("claims.text.replace('a', claims.text).size() > 0");
    assert.match(String(userOf(await repeated.ask({ text: 'a'.repeat(100_000) }))), /resulted in error/);
  });

  it('accepts a claim of a megabyte, and ten thousand claims', async () => {
    const { ask } = setUp({
      claimMappings: { username: { expression: 'claims.sub' }, groups: { expression: 'claims.c9999' } },
      claimValidationRules: [{ expression: "claims.large.endsWith('end')" }],
    });
    const claims = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`c${index}`, `value-${index}`]));
    assert.deepEqual(userOf(await ask({ ...claims, large: `${'x'.repeat(1_000_000)}end` })), ['jane', 'value-9999']);
  });

  it('accepts a token for any of several audiences', async () => {
    const { ask } = setUp({
      issuer: { url: issuerUrl, audiences: ['b', 'a'], audienceMatchPolicy: 'MatchAny' },
    });
    assert.deepEqual(userOf(await ask({ aud: ['x', 'b'] })), [`${issuerUrl}#jane`]);
    assert.match(String(userOf(await ask({ aud: 'x' }))), /oidc: expected audience in \["a" "b"\] got \["x"\]$/);
  });

  it("reads the address of the keys from the discovery address, which must return the issuer's name", async () => {
    const asked: string[] = [];
    const at = (issuer: string) =>
      setUp(
        { issuer: { url: issuerUrl, audiences: ['kubernetes'], discoveryURL: 'https://in.cluster/found' } },
        {
          fetchJson: (url) => {
            asked.push(url);
            const body = url.endsWith('/found') ? { issuer, jwks_uri: 'https://in.cluster/jwks' } : { keys: [] };
            return Promise.resolve({ status: 200, body });
          },
        },
      );
    await at(issuerUrl).ask();
    assert.deepEqual(asked, ['https://in.cluster/found', 'https://in.cluster/jwks']);
    assert.match(String(userOf(await at('https://in.cluster').ask())), /names the issuer/);
  });

  it('counts verifications and key fetches', async () => {
    const counted: unknown[] = [];
    const { ask } = setUp(
      {},
      {
        observer: {
          jwtJudged: (issuer, isUser) => counted.push([issuer, isUser]),
          keysFetched: (issuer, keys) => counted.push([issuer, keys !== undefined]),
        },
      },
    );
    await ask();
    await ask({ aud: 'x' });
    await ask({ iss: 'https://other' });
    assert.deepEqual(counted, [
      [issuerUrl, true],
      [issuerUrl, true],
      [issuerUrl, false],
    ]);
  });
});

describe('configured issuers', () => {
  const compiledFor = (...urls: string[]): readonly CompiledJwt[] =>
    validateAuthenticationConfiguration(
      { jwt: urls.map((url) => ({ ...byDefault, issuer: { url, audiences: ['kubernetes'] } })) },
      [],
    ).issuers;
  const fixture = () => {
    const log: string[] = [];
    const away = new Set<string>();
    const set = new IssuerSet(
      ({ jwt }) => {
        const url = jwt.issuer?.url ?? '';
        log.push(`made ${url}`);
        return {
          name: url,
          prepare: () => (away.has(url) ? Promise.reject(new Error(`${url} is away`)) : Promise.resolve()),
          authenticateToken: (token) =>
            Promise.resolve(token === url ? { outcome: 'user', user: { name: url, groups: [] } } : { outcome: 'none' }),
        };
      },
      compiledFor('https://a', 'https://b'),
      (issuer) => log.push(`removed ${issuer}`),
    );
    return { log, away, set };
  };

  it('are replaced when all new ones are reachable; unchanged ones keep their keys', async () => {
    const { log, set } = fixture();
    await set.replace(compiledFor('https://b', 'https://c'));
    assert.deepEqual(log, ['made https://a', 'made https://b', 'made https://c', 'removed https://a']);
    assert.deepEqual(userOf(await set.authenticateToken('https://c')), ['https://c']);
    assert.equal(userOf(await set.authenticateToken('https://a')), 'none');
  });

  it('are kept while one of the new ones is unreachable', async () => {
    const { away, set } = fixture();
    away.add('https://c');
    await assert.rejects(set.replace(compiledFor('https://c')), /is away/);
    assert.deepEqual(userOf(await set.authenticateToken('https://a')), ['https://a']);
  });
});
