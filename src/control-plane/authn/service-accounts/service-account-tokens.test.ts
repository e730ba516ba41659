import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { nodes, pods, secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import type { ServiceAccountTokenRequest } from '../../model/resource-definition.ts';
import { createServiceAccountAuthenticator, createTokenSigner } from './service-account-tokens.ts';
import { openIdDocuments, tokenKeyOf } from './signing-keys.ts';

const issuer = 'https://kubernetes.default.svc.cluster.local';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const startMs = Date.UTC(2026, 5, 1);
const account = { metadata: { name: 'robot', namespace: 'web', uid: 'sa-uid' } };

function setUp(key: KeyObject = rsa) {
  const reader = new FakeObjectReader();
  const state = { nowMs: startMs };
  const shared = { nowMs: () => state.nowMs, apiAudiences: [issuer] };
  const signer = createTokenSigner({ ...shared, issuer, key, random: seededRandom(1) });
  const authenticator = createServiceAccountAuthenticator({
    ...shared,
    issuers: [issuer],
    keys: [tokenKeyOf(key)],
    reader,
  });
  reader.put(serviceAccounts, account);
  const request = (changes: Partial<ServiceAccountTokenRequest> = {}): ServiceAccountTokenRequest => ({
    namespace: 'web',
    name: 'robot',
    uid: 'sa-uid',
    audiences: [issuer],
    expirationSeconds: 600,
    ...changes,
  });
  const sign = async (changes?: Partial<ServiceAccountTokenRequest>): Promise<string> =>
    (await signer.signServiceAccountToken(request(changes))).token;
  const ask = async (token: string, audiences?: readonly string[]): Promise<string> => {
    const result = await authenticator.authenticateToken(token, audiences);
    return result.outcome === 'user' ? result.user.name : result.outcome === 'failed' ? result.error : 'none';
  };
  return { reader, state, signer, authenticator, request, sign, ask };
}

const payloadOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const robot = 'system:serviceaccount:web:robot';

describe('service account tokens', () => {
  it('are signed by every allowed kind of key, and can be verified with the published keys', async () => {
    for (const key of [
      rsa,
      ...['P-256', 'P-384', 'P-521'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }).privateKey),
    ]) {
      const { sign, ask } = setUp(key);
      const token = await sign();
      assert.equal(await ask(token), robot);
      const documents = openIdDocuments(issuer, [tokenKeyOf(key)], 'https://192.0.2.1:6443/openid/v1/jwks');
      const set = createLocalJWKSet(JSON.parse(documents?.keys ?? '') as Parameters<typeof createLocalJWKSet>[0]);
      const { payload } = await jwtVerify(token, set, { issuer, audience: issuer, currentDate: new Date(startMs) });
      assert.equal(payload.sub, robot);
      assert.ok(!documents?.keys.includes('"d"'), 'no private part is published');
    }
    assert.throws(() => tokenKeyOf(generateKeyPairSync('ed25519').publicKey), /must be RSA, or ECDSA/);
    assert.equal(openIdDocuments('kubernetes', [tokenKeyOf(rsa)], ''), undefined);
  });

  it('have the claims of upstream’s tokens', async () => {
    const { sign, authenticator } = setUp();
    const { reader } = setUp();
    assert.equal(reader.listeners, 0);
    const token = await sign();
    const { jti, ...claims } = payloadOf(token);
    const seconds = startMs / 1000;
    assert.deepEqual(claims, {
      aud: [issuer],
      exp: seconds + 600,
      iat: seconds,
      iss: issuer,
      'kubernetes.io': { namespace: 'web', serviceaccount: { name: 'robot', uid: 'sa-uid' } },
      nbf: seconds,
      sub: robot,
    });
    assert.deepEqual(await authenticator.authenticateToken(token), {
      outcome: 'user',
      user: {
        name: robot,
        uid: 'sa-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:web'],
        extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(jti)}`] },
      },
      audiences: [issuer],
    });
  });

  it('become invalid with their pod, and name its node', async () => {
    const { reader, sign, ask, authenticator, state } = setUp();
    const pod = buildPod({ 'metadata.namespace': 'web', 'metadata.uid': 'pod-uid' });
    const token = await sign({
      boundObject: { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'pod-uid' },
      node: { name: 'n1', uid: 'node-uid' },
    });
    assert.equal(await ask(token), 'service account token has been invalidated');
    reader.put(pods, pod);
    const result = await authenticator.authenticateToken(token);
    assert.ok(result.outcome === 'user');
    const { 'authentication.kubernetes.io/credential-id': _, ...extra } = result.user.extra ?? {};
    assert.deepEqual(extra, {
      'authentication.kubernetes.io/pod-name': ['web'],
      'authentication.kubernetes.io/pod-uid': ['pod-uid'],
      'authentication.kubernetes.io/node-name': ['n1'],
      'authentication.kubernetes.io/node-uid': ['node-uid'],
    });
    reader.put(pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(startMs).toISOString() } });
    assert.equal(await ask(token), robot, 'what is being deleted still works for a minute');
    state.nowMs += 61_000;
    assert.equal(await ask(token), 'service account token has been invalidated');
    reader.put(pods, { ...pod, metadata: { ...pod.metadata, uid: 'another' } });
    assert.equal(await ask(token), 'pod UID (another) does not match service account pod ref claim (pod-uid)');
  });

  it('become invalid with the secret or node that they are bound to, and with the account', async () => {
    const { reader, sign, ask } = setUp();
    const bySecret = await sign({ boundObject: { kind: 'Secret', apiVersion: 'v1', name: 's', uid: 'secret-uid' } });
    const byNode = await sign({ boundObject: { kind: 'Node', apiVersion: 'v1', name: 'n1', uid: 'node-uid' } });
    for (const token of [bySecret, byNode])
      assert.equal(await ask(token), 'service account token has been invalidated');
    reader.put(secrets, { metadata: { name: 's', namespace: 'web', uid: 'secret-uid' } });
    reader.put(nodes, { metadata: { name: 'n1', namespace: '', uid: 'node-uid' }, spec: {}, status: {} });
    for (const token of [bySecret, byNode]) assert.equal(await ask(token), robot);
    reader.put(nodes, { metadata: { name: 'n1', namespace: '', uid: 'other' }, spec: {}, status: {} });
    assert.equal(await ask(byNode), 'node UID (other) does not match service account node ref claim (node-uid)');
    reader.put(serviceAccounts, { metadata: { ...account.metadata, uid: 'new' } });
    assert.equal(await ask(bySecret), 'service account UID (new) does not match claim (sa-uid)');
    reader.remove(serviceAccounts, { namespace: 'web', name: 'robot' });
    assert.equal(await ask(bySecret), 'serviceaccounts "robot" not found');
  });

  it('are valid in their period, with a tolerance of one minute', async () => {
    const { sign, ask, state } = setUp();
    const token = await sign();
    for (const [atMs, answer] of [
      [659_000, robot],
      [661_001, 'service account token has expired'],
      [-59_000, robot],
      [-61_000, 'service account token is not valid yet'],
    ] as const) {
      state.nowMs = startMs + atMs;
      assert.equal(await ask(token), answer, String(atMs));
    }
  });

  it('are valid for their audiences', async () => {
    const { sign, ask } = setUp();
    const vault = await sign({ audiences: ['vault'] });
    assert.equal(await ask(vault), `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`);
    assert.equal(await ask(vault, ['vault', 'x']), robot);
    assert.equal(
      await ask(await sign(), ['vault']),
      `token audiences ["${issuer}"] is invalid for the target audiences ["vault"]`,
    );
  });

  it('are valid for a year when a kubelet requests them for a pod, and say when they should have been renewed', async () => {
    const { signer, request } = setUp();
    const boundObject = { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'u' } as const;
    const { token, expiresAtMs } = await signer.signServiceAccountToken(
      request({ expirationSeconds: 3607, boundObject }),
    );
    const claims = payloadOf(token);
    assert.equal(claims['exp'], startMs / 1000 + 365 * 24 * 3600);
    assert.equal((claims['kubernetes.io'] as Record<string, unknown>)['warnafter'], startMs / 1000 + 3607);
    assert.equal(expiresAtMs, startMs + 3_607_000);
    const other = await signer.signServiceAccountToken(
      request({ expirationSeconds: 3607, boundObject, audiences: ['vault'] }),
    );
    assert.equal(payloadOf(other.token)['exp'], startMs / 1000 + 3607);
  });

  it('are refused when they were modified or use another algorithm', async () => {
    const { sign, ask } = setUp();
    const token = await sign();
    const [head = '', body = '', signature = ''] = token.split('.');
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const admin = encode({ ...payloadOf(token), sub: 'system:serviceaccount:kube-system:admin' });
    assert.equal(await ask(`${head}.${admin}.${signature}`), 'invalid signature');
    assert.equal(await ask(`${encode({ alg: 'none' })}.${body}.`), 'invalid signature');
    const spki = createPublicKey(rsa).export({ type: 'spki', format: 'pem' });
    const forgedHead = encode({ alg: 'HS256' });
    const forged = createHmac('sha256', spki).update(`${forgedHead}.${admin}`).digest('base64url');
    assert.equal(await ask(`${forgedHead}.${admin}.${forged}`), 'invalid signature', 'a public key is no secret');
    assert.equal(
      await setUp(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey).ask(token),
      'invalid signature, no keys found',
    );
    for (const text of ['', 'a.b.c', 'abc', `${head}.${encode({ iss: 'https://other' })}.x`])
      assert.equal(await ask(text), 'none');
  });
});

describe('tokens kept in secrets', () => {
  it('are valid while the secret contains them', async () => {
    const { reader, signer, ask } = setUp();
    const token = await signer.signLegacyToken({ namespace: 'web', name: 'robot', uid: 'sa-uid' }, 'robot-token');
    const secret = {
      metadata: { name: 'robot-token', namespace: 'web', uid: 'u' },
      type: 'kubernetes.io/service-account-token',
      data: { token: Buffer.from(token).toString('base64') },
    };
    assert.equal(await ask(token), 'Token has been invalidated');
    reader.put(secrets, secret);
    assert.equal(await ask(token), robot);
    assert.equal(
      await ask(token, ['vault']),
      `token audiences ["${issuer}"] is invalid for the target audiences ["vault"]`,
    );
    reader.put(secrets, {
      ...secret,
      metadata: { ...secret.metadata, labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } },
    });
    assert.match(await ask(token), /^the token in secret web\/robot-token .* has been marked invalid/);
    reader.put(secrets, { ...secret, data: { token: 'AAAA' } });
    assert.equal(await ask(token), "Token does not match server's copy");
    reader.put(secrets, secret);
    reader.put(serviceAccounts, { metadata: { ...account.metadata, uid: 'new' } });
    assert.equal(await ask(token), 'ServiceAccount UID (new) does not match claim (sa-uid)');
  });
});
