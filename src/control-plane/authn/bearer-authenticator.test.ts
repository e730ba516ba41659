import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../model/user-info.ts';
import { createBearerAuthenticator } from './bearer-authenticator.ts';
import { cachedTokenAuthenticator } from './tokens/token-cache.ts';
import { unionTokenAuthenticator, withOwnAudiences } from './tokens/token-union.ts';

const jane: AuthenticationResult = { outcome: 'user', user: { name: 'jane', groups: ['devs'] } };
const knows = (token: string, result: AuthenticationResult = jane): TokenAuthenticator => ({
  name: token,
  authenticateToken: (asked) => Promise.resolve(asked === token ? result : { outcome: 'none' }),
});
describe('bearer tokens', () => {
  it('are read from a header or a subprotocol', async () => {
    const { authenticate } = createBearerAuthenticator(knows('abc'));
    for (const authorization of ['Bearer abc', 'bearer abc', ' Bearer abc ', 'Bearer abc more'])
      assert.deepEqual(await authenticate({ authorization }), jane, authorization);
    for (const authorization of ['Bearer', 'Bearer ', 'Bearer  abc', 'Basic abc', ''])
      assert.deepEqual(await authenticate({ authorization }), { outcome: 'none' }, authorization);
    assert.deepEqual(await authenticate({ authorization: 'Bearer abd' }), {
      outcome: 'failed',
      error: 'invalid bearer token',
    });
    assert.deepEqual(await authenticate({ webSocketToken: 'abc' }), jane);
    assert.deepEqual(await authenticate({}), { outcome: 'none' });
  });
});

describe('tokens', () => {
  it('are accepted by any of several authenticators; errors are returned when none accepts them', async () => {
    const broken = knows('abc', { outcome: 'failed', error: 'broken' });
    assert.deepEqual(await unionTokenAuthenticator([broken, knows('abc')]).authenticateToken('abc'), jane);
    assert.deepEqual(await unionTokenAuthenticator([broken]).authenticateToken('abc'), {
      outcome: 'failed',
      error: 'broken',
    });
    assert.deepEqual(await unionTokenAuthenticator([broken]).authenticateToken('x'), { outcome: 'none' });
  });

  it("without audiences are accepted for the API server's own", async () => {
    const { authenticateToken } = withOwnAudiences(knows('abc'), ['api', 'api2']);
    assert.deepEqual(await authenticateToken('abc'), { ...jane, audiences: ['api', 'api2'] });
    assert.deepEqual(await authenticateToken('abc', ['x', 'api2']), { ...jane, audiences: ['api2'] });
    assert.deepEqual(await authenticateToken('abc', ['vault']), { outcome: 'none' });
  });

  it('are cached for ten seconds by audience, failures are not, and concurrent requests cause one call', async () => {
    const clock = new FakeClock();
    const asked: string[] = [];
    let result: AuthenticationResult = jane;
    const inner: TokenAuthenticator = {
      name: 'inner',
      authenticateToken: (token, audiences) => {
        asked.push(`${token}/${String(audiences)}`);
        return Promise.resolve(result);
      },
    };
    const { authenticateToken } = cachedTokenAuthenticator(inner, clock);
    await Promise.all([authenticateToken('a'), authenticateToken('a'), authenticateToken('a', ['x'])]);
    assert.deepEqual(asked, ['a/undefined', 'a/x']);
    result = { outcome: 'none' };
    await clock.advance(9_999);
    assert.deepEqual(await authenticateToken('a'), jane);
    await clock.advance(1);
    assert.deepEqual(await authenticateToken('a'), { outcome: 'none' }, 'taken back');
    await authenticateToken('a');
    assert.equal(asked.length, 4);
  });
});
