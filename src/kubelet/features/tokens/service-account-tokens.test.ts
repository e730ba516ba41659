import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { TokenOrder } from '../../ports/tokens.ts';
import type { KeptToken } from './service-account-tokens.ts';
import { computeRefreshAtMs, ServiceAccountTokens } from './service-account-tokens.ts';

const HOUR_MS = 3_600_000;
const order = (uid: string, expirationSeconds = 3600): TokenOrder => ({
  namespace: 'default',
  serviceAccount: 'robot',
  audiences: [],
  expirationSeconds,
  pod: { name: `pod-${uid}`, uid },
});

function setUp() {
  const clock = new FakeClock();
  const disk = new Map<string, KeptToken>();
  const api = { asked: 0, refuses: undefined as ErrorKind | undefined };
  const source = {
    request: async ({ expirationSeconds }: TokenOrder) => {
      await Promise.resolve();
      if (api.refuses !== undefined) throw new KubeletError(api.refuses, 'no');
      api.asked += 1;
      return { token: `token-${api.asked}`, expiresAtMs: clock.nowMs() + expirationSeconds * 1000 };
    },
  };
  const folder = {
    put: (key: string, value: KeptToken) => void disk.set(key, value),
    drop: (key: string) => void disk.delete(key),
  };
  const start = (): ServiceAccountTokens =>
    new ServiceAccountTokens({
      source,
      clock,
      random: seededRandom(1),
      log: recordingLog(),
      folder,
      left: new Map(disk),
    });
  return { clock, disk, api, start };
}

describe('service account tokens', () => {
  it('are replaced at 80 % of their lifetime, at most after a day, up to ten seconds early', () => {
    assert.deepEqual(
      [computeRefreshAtMs(HOUR_MS, HOUR_MS, 0), computeRefreshAtMs(HOUR_MS, HOUR_MS, 1)],
      [0.8 * HOUR_MS, 0.8 * HOUR_MS - 10_000],
    );
    assert.equal(computeRefreshAtMs(1000 * HOUR_MS, 1000 * HOUR_MS, 0), 24 * HOUR_MS);
  });

  it('are requested once for concurrent callers', async () => {
    const { api, start } = setUp();
    const tokens = start();
    const got = await Promise.all([tokens.get(order('a')), tokens.get(order('a')), tokens.get(order('b'))]);
    assert.deepEqual([got.map(({ token }) => token), api.asked], [['token-1', 'token-1', 'token-2'], 2]);
  });

  it('are requested again for a service account that was created again', async () => {
    const tokens = setUp().start();
    const got = await Promise.all(
      ['u1', 'u2', 'u1'].map((serviceAccountUid) => tokens.get({ ...order('a'), serviceAccountUid })),
    );
    assert.deepEqual(
      got.map(({ token }) => token),
      ['token-1', 'token-2', 'token-1'],
    );
  });

  it('are not requested again after a restart of the agent, and are renewed in time', async () => {
    const { api, start, clock } = setUp();
    await start().get(order('a'));
    await clock.advance(HOUR_MS / 2);
    const tokens = start();
    assert.deepEqual([(await tokens.get(order('a'))).token, api.asked], ['token-1', 1]);
    await clock.advance(HOUR_MS / 2);
    assert.equal((await tokens.get(order('a'))).token, 'token-2');
  });

  it('that expired while the machine was off are used only while the API server is unavailable', async () => {
    const { api, start, clock } = setUp();
    await start().get(order('a'));
    await clock.advance(2 * HOUR_MS);
    const tokens = start();
    api.refuses = 'Unavailable';
    assert.equal((await tokens.get(order('a'))).token, 'token-1');
    api.refuses = 'NotFound';
    await assert.rejects(tokens.get(order('a')), /expired and refresh failed: no$/);
    api.refuses = undefined;
    assert.equal((await tokens.get(order('a'))).token, 'token-2');
  });

  it('are dropped with their pod, from disk too', async () => {
    const { start, disk } = setUp();
    const tokens = start();
    for (const uid of ['a', 'b', 'c']) await tokens.get(order(uid));
    tokens.forget('a');
    tokens.retain(new Set(['b']));
    assert.deepEqual(
      [...disk.values()].map(({ podUid }) => podUid),
      ['b'],
    );
  });

  it("that cannot be requested fail with upstream's messages", async () => {
    const { api, start } = setUp();
    api.refuses = 'NotFound';
    await assert.rejects(start().get(order('a')), { kind: 'Unavailable', message: 'failed to fetch token: no' });
  });
});
