import assert from 'node:assert/strict';
import test from 'node:test';
import type { TokenRequest } from '../../../api/authentication/token-request.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import type { ActionAccess, ServiceAccountTokenRequest } from '../../model/resource-definition.ts';
import { serviceAccountToken } from './service-account-token.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const account: ServiceAccount = { metadata: { name: 'robot', namespace: 'default', uid: 'account-uid' } };
const pod = {
  metadata: { name: 'web-1', namespace: 'default', uid: 'pod-uid' },
  spec: { containers: [], serviceAccountName: 'robot', nodeName: 'node-1' },
};
const others: Readonly<Record<string, readonly ApiObject[]>> = {
  pods: [
    pod,
    {
      ...pod,
      metadata: { ...pod.metadata, name: 'stranger' },
      spec: { ...pod.spec, serviceAccountName: 'other' },
    } as ApiObject,
  ],
  nodes: [{ metadata: { name: 'node-1', namespace: '', uid: 'node-uid' } }],
  secrets: [{ metadata: { name: 'key', namespace: 'default', uid: 'secret-uid' } }],
};
const never = (): never => {
  throw new Error('not part of a token');
};

async function ask(
  spec: Partial<TokenRequest['spec']>,
  uid = '',
): Promise<{ answer: TokenRequest; signed: ServiceAccountTokenRequest }> {
  const signed: ServiceAccountTokenRequest[] = [];
  const access: ActionAccess<ServiceAccount> = {
    namespace: 'default',
    name: 'robot',
    dryRun: false,
    user: { name: 'tester', groups: [] },
    nowMs,
    get: () => Promise.resolve(account),
    // Objects of the kind that is asked for, as the table above has them.
    list: <U extends ApiObject>(type: ResourceType<U>, namespace: string) =>
      (others[type.plural] ?? []).filter(({ metadata }) => metadata.namespace === namespace) as U[],
    update: never,
    delete: never,
    updateOther: never,
    services: {
      apiAudiences: ['https://api.example'],
      signServiceAccountToken: (request) => {
        signed.push(request);
        return Promise.resolve({ token: 'a.b.c', expiresAtMs: nowMs + request.expirationSeconds * 1000 });
      },
    },
  };
  const body: TokenRequest = { metadata: { name: '', namespace: 'default', uid }, spec: { audiences: [], ...spec } };
  const answer = (await serviceAccountToken.perform(access, body)) as TokenRequest;
  const [request] = signed;
  if (request === undefined) throw new Error('nothing was signed');
  return { answer, signed: request };
}

const refusal = (spec: Partial<TokenRequest['spec']>, uid?: string): Promise<string> =>
  ask(spec, uid).then(
    () => 'signed',
    (error: unknown) => (error instanceof Error ? error.message : 'no error'),
  );

test('a token lasts an hour by default', async () => {
  const { answer, signed } = await ask({ audiences: ['vault'] });
  assert.deepEqual(signed, {
    namespace: 'default',
    name: 'robot',
    uid: 'account-uid',
    audiences: ['vault'],
    expirationSeconds: 3600,
  });
  assert.deepEqual(answer, {
    metadata: { name: 'robot', namespace: 'default', uid: 'account-uid', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { audiences: ['vault'], expirationSeconds: 3600 },
    status: { token: 'a.b.c', expirationTimestamp: '2026-01-01T01:00:00Z' },
  });
});

test('a token that names no audience is for the API server', async () => {
  const { answer, signed } = await ask({});
  assert.deepEqual([signed.audiences, answer.spec.audiences], [['https://api.example'], ['https://api.example']]);
});

test('a token may be bound to a pod and its node, to a node, or to a secret', async () => {
  const bound = async (kind: string, name: string): Promise<object> => {
    const { signed } = await ask({ boundObjectRef: { kind, apiVersion: 'v1', name } });
    return { object: signed.boundObject, node: signed.node };
  };
  assert.deepEqual(await bound('Pod', 'web-1'), {
    object: { kind: 'Pod', apiVersion: 'v1', name: 'web-1', uid: 'pod-uid' },
    node: { name: 'node-1', uid: 'node-uid' },
  });
  assert.deepEqual(await bound('Node', 'node-1'), {
    object: { kind: 'Node', apiVersion: 'v1', name: 'node-1', uid: 'node-uid' },
    node: undefined,
  });
  assert.deepEqual(await bound('Secret', 'key'), {
    object: { kind: 'Secret', apiVersion: 'v1', name: 'key', uid: 'secret-uid' },
    node: undefined,
  });
});

test('invalid token requests are rejected with the error texts of the API', async () => {
  const invalid = 'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value:';
  assert.equal(
    await refusal({ expirationSeconds: 599 }),
    `${invalid} 599: may not specify a duration less than 10 minutes`,
  );
  assert.equal(
    await refusal({ expirationSeconds: 2 ** 32 + 1 }),
    `${invalid} 4294967297: may not specify a duration larger than 2^32 seconds`,
  );
  assert.equal(
    await refusal({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'gone' } }),
    'pods "gone" not found',
  );
  assert.equal(
    await refusal({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'stranger' } }),
    'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
  );
  assert.equal(
    await refusal({ boundObjectRef: { kind: 'Deployment', apiVersion: 'apps/v1', name: 'x' } }),
    'cannot bind token to object of type apps/v1, Kind=Deployment',
  );
  assert.equal(
    await refusal({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web-1', uid: 'old' } }),
    'Operation cannot be fulfilled on Pod "web-1": the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
  );
  assert.equal(
    await refusal({}, 'old'),
    'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (old) does not match the UID of the service account (account-uid)',
  );
});
