import assert from 'node:assert/strict';
import test from 'node:test';
import type { ServiceAccountTokenRequest } from '../../model/resource-definition.ts';
import { computeBoundClaims, readKubernetesClaims, refuseTimes, serviceAccountInfo } from './token-claims.ts';

const nowSeconds = 1_000_000;
const request: ServiceAccountTokenRequest = {
  namespace: 'default',
  name: 'robot',
  uid: 'robot-uid',
  audiences: ['api'],
  expirationSeconds: 3607,
};
const context = { issuer: 'https://me', jti: 'j', nowSeconds, apiAudiences: ['api', 'other'], extendExpiration: true };

test('a token is valid for a minute before its begin and after its end', () => {
  const [early, expired, future] = [
    'service account token is not valid yet',
    'service account token has expired',
    'service account token is issued in the future',
  ];
  assert.deepEqual(
    [
      { nbf: nowSeconds + 60 },
      { nbf: nowSeconds + 61 },
      { exp: nowSeconds - 60 },
      { exp: nowSeconds - 61 },
      { iat: nowSeconds + 60 },
      { iat: nowSeconds + 61 },
      { nbf: nowSeconds + 61, exp: nowSeconds - 61, iat: nowSeconds + 61 },
      { nbf: 'x', exp: 'x', iat: 'x' },
      {},
    ].map((claims) => refuseTimes(claims, nowSeconds)),
    [undefined, early, undefined, expired, undefined, future, early, undefined, undefined],
  );
});

test('the claims name the account and the object to which the token is bound', () => {
  const of = (more: Partial<ServiceAccountTokenRequest>): unknown =>
    computeBoundClaims({ ...request, expirationSeconds: 600, ...more }, context)['kubernetes.io'];
  const serviceaccount = { name: 'robot', uid: 'robot-uid' };
  const bound = { name: 'b', uid: 'u' };
  const node = { name: 'n', uid: 'nu' };
  assert.deepEqual(
    [
      computeBoundClaims({ ...request, expirationSeconds: 600 }, context),
      of({ boundObject: { kind: 'Pod', apiVersion: 'v1', ...bound }, node }),
      of({ boundObject: { kind: 'Pod', apiVersion: 'v1', ...bound }, node: { name: 'n', uid: '' } }),
      of({ boundObject: { kind: 'Pod', apiVersion: 'v1', ...bound } }),
      of({ boundObject: { kind: 'Secret', apiVersion: 'v1', ...bound }, node }),
      of({ boundObject: { kind: 'Node', apiVersion: 'v1', ...bound } }),
    ],
    [
      {
        aud: ['api'],
        exp: nowSeconds + 600,
        iat: nowSeconds,
        iss: 'https://me',
        jti: 'j',
        'kubernetes.io': { namespace: 'default', serviceaccount },
        nbf: nowSeconds,
        sub: 'system:serviceaccount:default:robot',
      },
      { namespace: 'default', node, pod: bound, serviceaccount },
      { namespace: 'default', node: { name: 'n' }, pod: bound, serviceaccount },
      { namespace: 'default', pod: bound, serviceaccount },
      { namespace: 'default', secret: bound, serviceaccount },
      { namespace: 'default', node: bound, serviceaccount },
    ],
  );
});

test('only a token that kubelets request for a pod, for the API server alone, lasts a year', () => {
  const pod = { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'u' } as const;
  const lasts = (more: Partial<ServiceAccountTokenRequest>, extendExpiration = true): unknown => {
    const { exp, 'kubernetes.io': own } = computeBoundClaims({ ...request, ...more }, { ...context, extendExpiration });
    return [exp - nowSeconds, own.warnafter === undefined ? undefined : own.warnafter - nowSeconds];
  };
  const year = 365 * 24 * 3600;
  assert.deepEqual(
    [
      lasts({ boundObject: pod }),
      lasts({ boundObject: pod, audiences: [] }),
      lasts({ boundObject: pod }, false),
      lasts({ boundObject: { ...pod, kind: 'Secret' } }),
      lasts({}),
      lasts({ boundObject: pod, expirationSeconds: 3606 }),
      lasts({ boundObject: pod, audiences: ['api', 'vault'] }),
    ],
    [
      [year, 3607],
      [year, 3607],
      [3607, undefined],
      [3607, undefined],
      [3607, undefined],
      [3606, undefined],
      [3607, undefined],
    ],
  );
});

test('claims of a wrong form are read as empty, and never as another object', () => {
  const empty = { name: '', uid: '' };
  const none = { pod: undefined, secret: undefined, node: undefined };
  assert.deepEqual(
    [
      readKubernetesClaims({}),
      readKubernetesClaims({ 'kubernetes.io': null }),
      readKubernetesClaims({ 'kubernetes.io': 'x' }),
      readKubernetesClaims({
        'kubernetes.io': { namespace: 1, serviceaccount: 'x', pod: null, node: { name: 1, uid: [] } },
      }),
      readKubernetesClaims({
        'kubernetes.io': { namespace: 'n', serviceaccount: { name: 'a', uid: 'b' }, secret: { name: 's', uid: 't' } },
      }),
    ],
    [
      { namespace: '', serviceAccount: empty, ...none },
      { namespace: '', serviceAccount: empty, ...none },
      { namespace: '', serviceAccount: empty, ...none },
      { namespace: '', serviceAccount: empty, ...none, pod: empty, node: empty },
      { namespace: 'n', serviceAccount: { name: 'a', uid: 'b' }, ...none, secret: { name: 's', uid: 't' } },
    ],
  );
});

test('the user of a token has what is known of its pod, node and id, and nothing that is empty', () => {
  const account = { namespace: 'n', name: 'a', uid: 'u' };
  const extraOf = (more: object): unknown => serviceAccountInfo({ ...account, ...more }).extra;
  const key = (name: string): string => `authentication.kubernetes.io/${name}`;
  assert.deepEqual(serviceAccountInfo(account), {
    name: 'system:serviceaccount:n:a',
    uid: 'u',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:n'],
  });
  assert.deepEqual(
    [
      extraOf({ pod: { name: 'p', uid: 'pu' }, node: { name: 'n', uid: 'nu' }, jti: 'j' }),
      extraOf({ pod: { name: 'p', uid: '' }, node: { name: 'n', uid: '' }, jti: '' }),
      extraOf({ pod: { name: '', uid: 'pu' }, node: { name: '', uid: 'nu' } }),
      extraOf({ pod: { name: 'p' }, node: { name: 'n' } }),
    ],
    [
      {
        [key('pod-name')]: ['p'],
        [key('pod-uid')]: ['pu'],
        [key('credential-id')]: ['JTI=j'],
        [key('node-name')]: ['n'],
        [key('node-uid')]: ['nu'],
      },
      { [key('node-name')]: ['n'] },
      undefined,
      { [key('node-name')]: ['n'] },
    ],
  );
});
