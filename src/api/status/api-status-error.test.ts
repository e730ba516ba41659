import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ApiStatusError, forbidden, invalid } from './api-status-error.ts';

it('an error names its object or collection; for a path it has no details', () => {
  const pods = { group: '', plural: 'pods' };
  const shown = (error: ReturnType<typeof forbidden>) => [error.message, error.details];
  assert.deepEqual(shown(forbidden({ group: 'apps', plural: 'deployments' }, 'web', 'no')), [
    'deployments.apps "web" is forbidden: no',
    { name: 'web', group: 'apps', kind: 'deployments' },
  ]);
  assert.deepEqual(shown(forbidden(pods, '', 'no')), ['pods is forbidden: no', { kind: 'pods' }]);
  assert.deepEqual(shown(forbidden({ group: '', plural: '' }, '', 'User "jane" cannot get path "/metrics"')), [
    'forbidden: User "jane" cannot get path "/metrics"',
    {},
  ]);
});

it('an error records its stack only when it is a fault of the server', () => {
  const limit = Error.stackTraceLimit;
  const hasFrames = (reason: 'NotFound' | 'Conflict' | 'InternalError'): boolean =>
    /^ +at /m.test(new ApiStatusError(reason, 'x').stack ?? '');
  assert.deepEqual([hasFrames('NotFound'), hasFrames('Conflict'), hasFrames('InternalError')], [false, false, true]);
  assert.equal(Error.stackTraceLimit, limit);
});

it('ten thousand errors are distinguished without comparing each with each', () => {
  let reads = 0;
  const errors = Array.from({ length: 10_000 }, (_, index) => ({
    type: 'Required value' as const,
    value: '',
    detail: '',
    message: 'Required value',
    get field() {
      reads++;
      return `spec.containers[${index % 5000}].name`;
    },
  }));
  const { details } = invalid({ group: '', kind: 'Pod' }, 'p', errors);
  assert.equal(details?.causes?.length, 5000);
  assert.ok(reads < 100_000, `${reads} reads`);
});
