import assert from 'node:assert/strict';
import test from 'node:test';
import { namespaces, resourceClaims, resourceClaimTemplates } from '../../api/client/resource-types.ts';
import type { ResourceClaim } from '../../api/resource/resource-claim.ts';
import { createDeviceAdminAccess } from './device-admin-access.ts';
import { AdmissionFixture } from './testing/admission-fixture.ts';

const metadata = { name: 'c', namespace: 'default', uid: '' };
const spec = (adminAccess: boolean) => ({
  devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'x', adminAccess } }] },
});
const allocated: ResourceClaim = {
  metadata,
  spec: spec(false),
  status: {
    allocation: {
      devices: { results: [{ request: 'a', driver: 'd', pool: 'p', device: 'v', adminAccess: true }] },
    },
  },
};

test('admin access to devices is refused unless the namespace has the label for it', async () => {
  const fixture = new AdmissionFixture();
  const plugin = createDeviceAdminAccess(fixture.reader);
  const claim = (adminAccess: boolean) =>
    fixture.refusal(plugin, resourceClaims, { object: { metadata, spec: spec(adminAccess) } });
  const template = () =>
    fixture.refusal(plugin, resourceClaimTemplates, { object: { metadata, spec: { metadata: {}, spec: spec(true) } } });
  const status = () =>
    fixture.refusal(plugin, resourceClaims, {
      object: allocated,
      old: { metadata, spec: spec(false) },
      subresource: 'status',
    });
  const refused = /admin access to devices requires the `resource.kubernetes.io\/admin-access: true` label/;
  assert.match(await claim(true), refused);
  assert.match(await template(), refused);
  assert.match(await status(), refused);
  assert.equal(await claim(false), '');
  fixture.reader.put(namespaces, {
    metadata: { name: 'default', namespace: '', uid: '', labels: { 'resource.kubernetes.io/admin-access': 'true' } },
    spec: {},
  });
  assert.equal(await claim(true), '');
  assert.equal(await template(), '');
  assert.equal(await status(), '');
});
