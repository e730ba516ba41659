import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forbidden } from './api-status-error.ts';

it('a refusal tells what it is about: an object, a collection, or a path, which has no details', () => {
  const pods = { group: '', plural: 'pods' };
  const shown = (error: ReturnType<typeof forbidden>) => [error.message, error.details];
  assert.deepEqual(shown(forbidden({ group: 'apps', plural: 'deployments' }, 'web', 'no')), ['deployments.apps "web" is forbidden: no', { name: 'web', group: 'apps', kind: 'deployments' }]);
  assert.deepEqual(shown(forbidden(pods, '', 'no')), ['pods is forbidden: no', { kind: 'pods' }]);
  assert.deepEqual(shown(forbidden({ group: '', plural: '' }, '', 'User "jane" cannot get path "/metrics"')), ['forbidden: User "jane" cannot get path "/metrics"', {}]);
});
