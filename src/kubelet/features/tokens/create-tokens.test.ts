import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createTokens } from './create-tokens.ts';
import type { KeptToken } from './service-account-tokens.ts';

const order = {
  namespace: 'prod',
  serviceAccount: 'robot',
  audiences: [],
  expirationSeconds: 600,
  pod: { name: 'web', uid: 'uid-1' },
};

function fixture() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  api.onPost('serviceaccounts', 'token', () => ({
    kind: 'TokenRequest',
    status: { token: 'abc', expirationTimestamp: new Date(clock.nowMs() + 600_000).toISOString() },
  }));
  const parts = { kept: undefined, clock, random: seededRandom(1), log: silentLogger };
  return { api, parts };
}

test('a standalone node has no tokens to give', async () => {
  const { parts } = fixture();
  await assert.rejects(createTokens({ ...parts, client: undefined }).get(order), {
    kind: 'Unavailable',
    message: /cannot use TokenManager when kubelet is in standalone mode/,
  });
});

test('tokens of a node of a cluster are issued by its API server, and kept where the agent finds them again', async () => {
  const { api, parts } = fixture();
  const disk = new Map<string, KeptToken>();
  const folder = { put: (key: string, value: KeptToken) => void disk.set(key, value), drop: () => undefined };
  const first = createTokens({ ...parts, client: api, kept: { folder, left: new Map() } });
  assert.equal((await first.get(order)).token, 'abc');
  const second = createTokens({ ...parts, client: undefined, kept: { folder, left: disk } });
  assert.equal((await second.get(order)).token, 'abc');
});
