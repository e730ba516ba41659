import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { notFound } from '../../../api/status/api-status-error.ts';
import { serviceAccounts } from '../../../api/client/resource-types.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ApiTokens } from './api-tokens.ts';

const order = {
  namespace: 'prod',
  serviceAccount: 'robot',
  audiences: ['vault'],
  expirationSeconds: 600,
  pod: { name: 'web', uid: 'uid-1' },
};

describe('tokens from the API server', () => {
  it('are bound to their pod', async () => {
    const api = new FakeApiClient({ clock: new FakeClock() });
    const asked: unknown[] = [];
    api.onPost('serviceaccounts', 'token', (key, body) => {
      asked.push([key, body]);
      return { kind: 'TokenRequest', status: { token: 'abc', expirationTimestamp: '2026-01-01T00:10:00Z' } };
    });
    assert.deepEqual(await new ApiTokens(api).request(order), {
      token: 'abc',
      expiresAtMs: Date.UTC(2026, 0, 1, 0, 10),
    });
    assert.deepEqual(asked, [
      [
        { namespace: 'prod', name: 'robot' },
        {
          kind: 'TokenRequest',
          apiVersion: 'authentication.k8s.io/v1',
          metadata: {},
          spec: {
            audiences: ['vault'],
            expirationSeconds: 600,
            boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'uid-1' },
          },
        },
      ],
    ]);
  });

  it("are rejected in the server's words, and an error response differs from no response", async () => {
    const api = new FakeApiClient({ clock: new FakeClock() });
    api.fail('post', 'serviceaccounts', notFound(serviceAccounts, 'robot'));
    await assert.rejects(new ApiTokens(api).request(order), {
      kind: 'NotFound',
      message: 'serviceaccounts "robot" not found',
    });
    api.fail('post', 'serviceaccounts', new Error('connect ECONNREFUSED'));
    await assert.rejects(new ApiTokens(api).request(order), { kind: 'Unavailable', message: 'connect ECONNREFUSED' });
    api.onPost('serviceaccounts', 'token', () => ({ status: {} }));
    await assert.rejects(new ApiTokens(api).request(order), { kind: 'Unavailable' });
  });
});
