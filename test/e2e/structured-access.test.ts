// Authentication and authorization of a running server by structured configuration files, with a real issuer: their
// effect, and that changed files take effect without a restart.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { Posted } from './support/auth-services.ts';
import { OidcIssuer, Webhook } from './support/auth-services.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kts-structured-'));
const [authentication, authorization] = [
  path.join(folder, 'authentication.yaml'),
  path.join(folder, 'authorization.yaml'),
];
const GROUP = 'apiserver.config.k8s.io/v1';
const PODS = '/api/v1/namespaces/default/pods';
const [REVIEWS, SERVICES] = [
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  '/api/v1/namespaces/default/services',
];

const judge = ({ spec }: Posted): object => ({
  allowed: spec.resourceAttributes?.['verb'] === 'list',
  reason: 'as the webhook sees it',
});

describe('a server with files of structured configuration', () => {
  const hook = new Webhook(judge);
  let issuers: readonly OidcIssuer[];
  let cluster: TestCluster;

  /** Replaces the file by another one, as editors and kubelets do. */
  const write = (file: string, content: object): void => {
    writeFileSync(`${file}.new`, JSON.stringify(content));
    renameSync(`${file}.new`, file);
  };
  const jwt = ({ url, caFile }: OidcIssuer, prefix: string): object => ({
    issuer: {
      url,
      certificateAuthority: readFileSync(caFile, 'utf8'),
      audiences: ['kubernetes', 'other'],
      audienceMatchPolicy: 'MatchAny',
    },
    claimValidationRules: [{ expression: "claims.tenant == 'one'", message: 'wrong tenant' }],
    claimMappings: {
      username: { expression: `'${prefix}' + claims.sub` },
      groups: { expression: 'claims.roles' },
      uid: { claim: 'sub' },
      extra: [{ key: 'example.org/tenant', valueExpression: 'claims.tenant' }],
    },
    userValidationRules: [{ expression: "!user.groups.exists(g, g.startsWith('system:'))", message: 'reserved group' }],
  });
  const authenticationOf = (...jwts: object[]): object => ({
    apiVersion: GROUP,
    kind: 'AuthenticationConfiguration',
    jwt: jwts,
    anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
  });
  const authorizationOf = (kubeConfigFile: string, expression: string): object => ({
    apiVersion: GROUP,
    kind: 'AuthorizationConfiguration',
    authorizers: [
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
      {
        type: 'Webhook',
        name: 'hook',
        webhook: {
          timeout: '3s',
          subjectAccessReviewVersion: 'v1',
          matchConditionSubjectAccessReviewVersion: 'v1',
          failurePolicy: 'Deny',
          cacheAuthorizedRequests: false,
          connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
          matchConditions: [{ expression: 'has(request.resourceAttributes)' }, { expression }],
        },
      },
    ],
  });

  const ask = (method: string, target: string, bearer?: string, body?: object): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      };
      const ca = readFileSync(path.join(cluster.folder, 'pki', 'ca.crt'));
      const url = `https://127.0.0.1:${cluster.port}${target}`;
      const sent = request(url, { method, ca, headers, agent: false }, (response) => {
        text(response).then((said) => resolve([response.statusCode ?? 0, said]), reject);
      });
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const whoami = async (bearer: string): Promise<unknown> => {
    const [status, said] = await ask('POST', REVIEWS, bearer, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    return status === 201 ? (JSON.parse(said) as { status: { userInfo: unknown } }).status.userInfo : status;
  };
  const metric = async (name: string): Promise<string> =>
    (await cluster.kubectl(['get', '--raw', '/metrics'])).split('\n').find((line) => line.startsWith(name)) ?? '';

  before(async () => {
    const ofIssuers = ['first', 'second'].map((name) => path.join(folder, name));
    for (const each of ofIssuers) mkdirSync(each);
    issuers = await Promise.all(ofIssuers.map((each) => OidcIssuer.start(each)));
    const [first] = issuers as [OidcIssuer];
    await hook.listen(path.join(folder, 'hook.conf'));
    write(authentication, authenticationOf(jwt(first, 'one:')));
    write(authorization, authorizationOf(path.join(folder, 'hook.conf'), "request.user.startsWith('one:')"));
    cluster = await startCluster({
      flags: [`--authentication-config=${authentication}`, `--authorization-config=${authorization}`],
    });
  });

  after(async () => {
    await cluster.stop();
    for (const issuer of issuers) issuer.stop();
    hook.close();
    rmSync(folder, { recursive: true });
  });

  const claims = { sub: 'dora', tenant: 'one', roles: ['testers'], aud: 'other' };

  it('authenticates users of the issuer with the configured expressions', async () => {
    const [issuer] = issuers as [OidcIssuer];
    assert.deepEqual(await whoami(await issuer.token({ ...claims, jti: '7' })), {
      username: 'one:dora',
      uid: 'dora',
      groups: ['testers', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=7'], 'example.org/tenant': ['one'] },
    });
    for (const wrong of [{ tenant: 'two' }, { roles: ['system:masters'] }, { aud: 'third' }, { roles: 7 }])
      assert.equal(await whoami(await issuer.token({ ...claims, ...wrong })), 401, JSON.stringify(wrong));
    assert.equal(await whoami(await issuer.token(claims, { forged: true })), 401);
  });

  it('lets anonymous clients read only the configured paths', async () => {
    assert.equal((await ask('GET', '/livez'))[0], 200);
    for (const target of ['/readyz', '/version', '/livez/', PODS]) assert.equal((await ask('GET', target))[0], 401);
  });

  it('asks the webhook about what its conditions name, and about nothing else', async () => {
    const bearer = await (issuers as [OidcIssuer])[0].token(claims);
    assert.equal((await ask('GET', SERVICES, bearer))[0], 200);
    const [status, said] = await ask('DELETE', `${SERVICES}/kubernetes`, bearer);
    assert.equal(status, 403);
    assert.match(said, /as the webhook sees it/);
    await ask('GET', '/metrics', bearer);
    assert.ok(hook.posted.every(({ spec }) => spec.resourceAttributes !== undefined && spec.user === 'one:dora'));
    assert.match(await metric('apiserver_authorization_webhook_evaluations_total'), /name="hook",result="success"} \d/);
  });

  it('takes a changed file without a restart, and leaves a wrong one', async () => {
    const [first, second] = issuers as [OidcIssuer, OidcIssuer];
    const bearer = await second.token(claims);
    assert.equal(await whoami(bearer), 401);
    write(authentication, authenticationOf(jwt(second, 'two:')));
    const user = await eventually(async () => {
      const found = await whoami(bearer);
      assert.notEqual(found, 401);
      return found as { username: string };
    });
    assert.equal(user.username, 'two:dora');
    assert.equal(await whoami(await first.token({ ...claims, sub: 'new' })), 401, 'the first is gone');
    const reloads = 'apiserver_authentication_config_controller_automatic_reloads_total';
    assert.match(await metric(reloads), /status="success".*} 1$/);
    write(authentication, { ...authenticationOf(jwt(second, 'three:')), anonymous: { enabled: true } });
    await eventually(async () => assert.match(cluster.log(), /anonymous: Forbidden: changed from initial/));
    const later = (await whoami(await second.token({ ...claims, jti: 'later' }))) as { username: string };
    assert.equal(later.username, 'two:dora');
  });

  it('takes changed authorizers without a restart', async () => {
    const bearer = await (issuers as [OidcIssuer, OidcIssuer])[1].token(claims);
    assert.equal((await ask('GET', SERVICES, bearer))[0], 403, 'its name begins with two');
    write(authorization, authorizationOf(path.join(folder, 'hook.conf'), "request.user.startsWith('two:')"));
    await eventually(async () => assert.equal((await ask('GET', SERVICES, bearer))[0], 200));
    write(authorization, {
      apiVersion: GROUP,
      kind: 'AuthorizationConfiguration',
      authorizers: [{ type: 'AlwaysAllow', name: 'alwaysallow' }],
    });
    await eventually(async () => assert.match(cluster.log(), /missing required types: \[Node RBAC\]/));
    assert.equal((await ask('DELETE', `${SERVICES}/kubernetes`, bearer))[0], 403);
  });
});
