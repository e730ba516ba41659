import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { AssumedClaims } from './assumed-claims.ts';

const claim = (resourceVersion: string, isAllocated: boolean): ResourceClaim => ({
  metadata: { name: 'c', namespace: 'default', uid: 'u', resourceVersion },
  spec: { devices: {} },
  ...(isAllocated && { status: { allocation: { devices: {} } } }),
});
const isAllocated = (claims: AssumedClaims, actual: ResourceClaim): boolean =>
  claims.over(actual)?.status?.allocation !== undefined;

it('an assumed claim stays between its writes, until the cache shows the last one', () => {
  const claims = new AssumedClaims();
  claims.assume(claim('1', true));
  assert.equal(isAllocated(claims, claim('1', false)), true);
  // This write adds the finalizer.
  assert.equal(isAllocated(claims, claim('2', false)), true);
  claims.wroteOver(claim('1', false));
  claims.wroteOver(claim('2', false));
  claims.settle(claim('2', false), 'written');
  assert.equal(isAllocated(claims, claim('2', false)), true);
  // Other clients have since allocated and deallocated the claim.
  assert.equal(isAllocated(claims, claim('4', false)), false);
});

it('a failed write reverts an assumed claim unless another bind uses it', () => {
  const claims = new AssumedClaims();
  claims.assume(claim('1', true));
  claims.assume(claim('1', true));
  claims.settle(claim('1', false), 'failed');
  assert.equal(isAllocated(claims, claim('1', false)), true);
  claims.settle(claim('1', false), 'failed');
  assert.equal(isAllocated(claims, claim('1', false)), false);
});
