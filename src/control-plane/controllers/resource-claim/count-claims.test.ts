import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { countClaims } from './count-claims.ts';

it('claims are counted by allocation, access and source', () => {
  const claim = (more: Partial<ResourceClaim>, annotations = {}, adminAccess = false): ResourceClaim => ({
    metadata: { name: 'c', namespace: 'default', uid: 'c', annotations },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', adminAccess } }] } },
    ...more,
  });
  const allocated = { status: { allocation: { devices: {} } } };
  const generated = { 'resource.kubernetes.io/pod-claim-name': 'dev' };
  const extended = { 'resource.kubernetes.io/extended-resource-claim': 'true' };
  const claims = [claim({}), claim({}), claim(allocated, generated), claim(allocated, extended), claim({}, {}, true)];
  assert.deepEqual(countClaims(claims), [
    { allocated: false, adminAccess: false, source: '', count: 2 },
    { allocated: true, adminAccess: false, source: 'resource_claim_template', count: 1 },
    { allocated: true, adminAccess: false, source: 'extended_resource', count: 1 },
    { allocated: false, adminAccess: true, source: '', count: 1 },
  ]);
});
