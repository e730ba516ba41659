import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AuthenticationResult } from '../../model/user-info.ts';
import { tokenReviewer } from './review-token.ts';

it('a review returns the user of a token', async () => {
  const asked: (readonly string[] | undefined)[] = [];
  let result: AuthenticationResult = { outcome: 'user', user: { name: 'jane', groups: ['devs'] }, audiences: ['api'] };
  const tokens = {
    name: 'x',
    authenticateToken: (_: string, audiences?: readonly string[]) => {
      asked.push(audiences);
      return Promise.resolve(result);
    },
  };
  const review = tokenReviewer(tokens, ['api']);
  assert.deepEqual(await review('t', []), {
    outcome: 'user',
    user: { name: 'jane', groups: ['devs', 'system:authenticated'] },
    audiences: ['api'],
  });
  await review('t', ['vault']);
  assert.deepEqual(asked, [['api'], ['vault']]);
  result = { outcome: 'none' };
  assert.deepEqual(await review('t', []), { outcome: 'failed', error: 'invalid bearer token' });
  result = { outcome: 'failed', error: 'expired' };
  assert.deepEqual(await review('t', []), result);
});
