import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFieldError } from '../../../api/validation/field-error.ts';
import { readAuthenticationConfiguration } from './authentication-configuration.ts';
import type { AuthenticationConfiguration, JwtAuthenticator } from './authentication-configuration.ts';
import { validateAuthenticationConfiguration } from './validate-authentication-configuration.ts';

const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
const good: JwtAuthenticator = {
  issuer: { url: 'https://issuer', audiences: ['kubernetes'] },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
};
const errorsOf = (configuration: AuthenticationConfiguration, disallowed: string[] = []): string[] =>
  validateAuthenticationConfiguration(configuration, disallowed).errors.map(formatFieldError);
const ofJwt = (changes: JwtAuthenticator): string[] => errorsOf({ jwt: [{ ...good, ...changes }] });
const ofIssuer = (changes: JwtAuthenticator['issuer']): string[] => ofJwt({ issuer: { ...good.issuer, ...changes } });
const ofMappings = (changes: JwtAuthenticator['claimMappings']): string[] =>
  ofJwt({ claimMappings: { ...good.claimMappings, ...changes } });

describe('AuthenticationConfiguration', () => {
  it('is parsed strictly, in each of its versions', () => {
    const document = { ...head, jwt: [good], anonymous: { enabled: true, conditions: [{ path: '/livez' }] } };
    assert.deepEqual(readAuthenticationConfiguration(document), document);
    const beta = { ...head, apiVersion: 'apiserver.config.k8s.io/v1beta1' };
    assert.deepEqual(readAuthenticationConfiguration(beta), beta);
    assert.equal(readAuthenticationConfiguration(undefined), 'empty config data');
    assert.match(String(readAuthenticationConfiguration({ ...head, kind: 'Pod' })), /no kind "Pod" is registered/);
    assert.match(String(readAuthenticationConfiguration({ ...head, jwts: [] })), /unknown field "jwts"/);
    assert.match(String(readAuthenticationConfiguration({ ...head, jwt: {} })), /jwt/);
  });

  it('may have no issuer, and at most 64 with different addresses', () => {
    assert.deepEqual(errorsOf({}), []);
    assert.deepEqual(errorsOf({ jwt: Array.from({ length: 65 }, () => good) }), [
      'jwt: Too many: 65: must have at most 64 items',
    ]);
    const discovery = { ...good, issuer: { ...good.issuer, discoveryURL: 'https://found' } };
    assert.deepEqual(errorsOf({ jwt: [discovery, discovery] }), [
      'jwt[1].issuer.url: Duplicate value: "https://issuer"',
      'jwt[1].issuer.discoveryURL: Duplicate value: "https://found"',
    ]);
  });

  it('allows anonymous conditions only where anonymous requests are enabled', () => {
    assert.deepEqual(errorsOf({ anonymous: { conditions: [{ path: '/livez' }] } }), [
      'anonymous.conditions: Invalid value: [{"path":"/livez"}]: enabled should be set to true when conditions are defined',
    ]);
  });

  it('requires https addresses of issuers, without further parts', () => {
    const field = 'jwt[0].issuer.url: Invalid value';
    assert.deepEqual(ofIssuer({ url: '' }), ['jwt[0].issuer.url: Required value']);
    assert.deepEqual(ofIssuer({ url: 'http://x' }), [`${field}: "http://x": URL scheme must be https`]);
    assert.deepEqual(ofIssuer({ url: 'https://u:p@x?q#f' }), [
      `${field}: "https://u:p@x?q#f": URL must not contain a username or password`,
      `${field}: "https://u:p@x?q#f": URL must not contain a query`,
      `${field}: "https://u:p@x?q#f": URL must not contain a fragment`,
    ]);
    assert.deepEqual(errorsOf({ jwt: [good] }, ['https://issuer']), [
      `${field}: "https://issuer": URL must not overlap with disallowed issuers: [https://issuer]`,
    ]);
    assert.deepEqual(ofIssuer({ discoveryURL: 'https://issuer/' }), [
      'jwt[0].issuer.discoveryURL: Invalid value: "https://issuer/": discoveryURL must be different from URL',
    ]);
    assert.deepEqual(ofIssuer({ certificateAuthority: 'none' }), [
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ]);
    assert.match(ofIssuer({ egressSelectorType: 'moon' }).join(), /must be either controlplane or cluster/);
    assert.match(ofIssuer({ egressSelectorType: 'cluster' }).join(), /this server has no egress selectors/);
  });

  it('requires audiences; several need a policy that says how they match', () => {
    const path = 'jwt[0].issuer.audience';
    assert.deepEqual(ofIssuer({ audiences: [] }), [
      `${path}s: Required value: at least one jwt[0].issuer.audiences is required`,
    ]);
    assert.deepEqual(ofIssuer({ audiences: ['a', '', 'a'] }), [
      `${path}s[1]: Required value`,
      `${path}s[2]: Duplicate value: "a"`,
      `${path}MatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences`,
    ]);
    assert.deepEqual(ofIssuer({ audienceMatchPolicy: 'All' }), [
      `${path}MatchPolicy: Invalid value: "All": audienceMatchPolicy must be empty or MatchAny for single audience`,
    ]);
  });

  it('requires validation rules with either a claim or an expression', () => {
    const path = 'jwt[0].claimValidationRules';
    assert.deepEqual(
      ofJwt({
        claimValidationRules: [
          { claim: 'a', expression: 'true' },
          {},
          { claim: 'a', message: 'x' },
          { claim: 'a' },
          { expression: 'claims.a == 1', requiredValue: 'x' },
          { expression: 'claims.a == 1' },
          { expression: 'claims.a' },
        ],
      }),
      [
        `${path}[0]: Invalid value: "a": claim and expression can't both be set`,
        `${path}[1]: Required value: claim or expression is required`,
        `${path}[2].message: Invalid value: "x": may not be specified when claim is set`,
        `${path}[3].claim: Duplicate value: "a"`,
        `${path}[4].requiredValue: Invalid value: "x": may not be specified when expression is set`,
        `${path}[5].expression: Duplicate value: "claims.a == 1"`,
        `${path}[6].expression: Invalid value: "claims.a": must evaluate to bool`,
      ],
    );
    assert.match(
      ofJwt({ userValidationRules: [{ expression: 'user.name == 1' }] }).join(),
      /userValidationRules\[0\]\.expression: Invalid value: "user\.name == 1": compilation failed: ERROR: <input>:1:5: undefined field 'name'/,
    );
    assert.deepEqual(ofJwt({ userValidationRules: [{}, { expression: 'true' }, { expression: 'true' }] }), [
      'jwt[0].userValidationRules[0].expression: Required value',
      'jwt[0].userValidationRules[2].expression: Duplicate value: "true"',
    ]);
  });

  it('maps a claim with a prefix, or an expression without one', () => {
    const path = 'jwt[0].claimMappings';
    assert.deepEqual(ofMappings({ username: {} }), [
      `${path}.username: Required value: claim or expression is required`,
    ]);
    assert.deepEqual(ofMappings({ username: { claim: 'sub' }, groups: { claim: 'g', expression: 'claims.g' } }), [
      `${path}.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing`,
      `${path}.groups: Invalid value: "": claim and expression can't both be set`,
    ]);
    assert.deepEqual(
      ofMappings({ groups: { expression: 'claims.g', prefix: '' }, uid: { claim: 'a', expression: 'claims.a' } }),
      [
        `${path}.groups.prefix: Invalid value: "": may not be specified when expression is set`,
        `${path}.uid: Invalid value: "": claim and expression can't both be set`,
      ],
    );
  });

  it('requires extra keys with a domain outside of Kubernetes', () => {
    const path = 'jwt[0].claimMappings.extra';
    const valueExpression = 'claims.a';
    assert.deepEqual(
      ofMappings({
        extra: [
          { key: 'Example.org/Foo', valueExpression },
          { key: 'a.k8s.io/x', valueExpression },
          { key: 'example.org/a' },
          { key: 'example.org/a', valueExpression },
        ],
      }),
      [
        `${path}[0].key: Invalid value: "Example.org": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
        `${path}[0].key: Invalid value: "Example.org/Foo": must be lowercase`,
        `${path}[1].key: Invalid value: "a.k8s.io/x": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use`,
        `${path}[2].valueExpression: Required value`,
        `${path}[3].key: Duplicate value: "example.org/a"`,
      ],
    );
  });

  it('refuses expressions that are too long or too deep', () => {
    const username = (expression: string): string => ofMappings({ username: { expression } }).join();
    assert.match(
      username(`claims.sub + '${'x'.repeat(20_000)}'`),
      /compilation failed: ERROR: <input>:1:1: expression code point size exceeds limit: size: 20015, limit 20000/,
    );
    for (const deep of [
      `${'('.repeat(9_000)}claims.sub${')'.repeat(9_000)}`,
      `${'['.repeat(9_000)}${']'.repeat(9_000)}`,
      `claims${'.a'.repeat(9_000)}`,
    ])
      assert.match(username(deep), /expression recursion limit exceeded/, deep.slice(0, 20));
  });

  it('uses an e-mail address as the username only if it also reads the verification claim', () => {
    const username = { expression: 'claims.email' };
    assert.match(ofMappings({ username }).join(), /claims\.email_verified must be used in/);
    assert.match(ofMappings({ username: { expression: 'claims.?email.orValue("")' } }).join(), /must be used in/);
    const verified = 'claims.?email_verified.orValue(true) == true';
    assert.deepEqual(ofMappings({ username: { expression: `${verified} ? claims.email : ''` } }), []);
    assert.deepEqual(
      ofMappings({ username, extra: [{ key: 'a.b/c', valueExpression: 'string(claims.email_verified)' }] }),
      [],
    );
    assert.deepEqual(ofJwt({ claimMappings: { username }, claimValidationRules: [{ expression: verified }] }), []);
    assert.match(ofMappings({ username, groups: { expression: 'claims.email_verified' } }).join(), /must be used in/);
  });
});
