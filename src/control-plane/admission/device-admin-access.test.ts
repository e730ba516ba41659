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

const why =
  'Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace';
const invalid = (kind: string, field: string): string => `${kind}.resource.k8s.io "c" is invalid: ${field}: ${why}`;

test('the refusal names the first request with admin access, with the path of upstream', async () => {
  const fixture = new AdmissionFixture();
  const plugin = createDeviceAdminAccess(fixture.reader);
  const exactly = (adminAccess?: boolean) => ({ name: 'a', exactly: { deviceClassName: 'x', adminAccess } });
  const devices = { requests: [{ name: 'b', firstAvailable: [] }, exactly(), exactly(true), exactly(true)] };
  const claimed = { metadata, spec: { devices } } as unknown as ResourceClaim;
  const template = { metadata, spec: { metadata: {}, spec: { devices } } } as never;
  assert.deepEqual(
    [
      await fixture.refusal(plugin, resourceClaims, { object: claimed }),
      await fixture.refusal(plugin, resourceClaimTemplates, { object: template }),
      await fixture.refusal(plugin, resourceClaims, { object: { metadata, spec: { devices: {} } } }),
    ],
    [
      invalid('ResourceClaim', 'spec.devices.requests[2].adminAccess'),
      invalid('ResourceClaimTemplate', 'spec.devices.requests[2].adminAccess'),
      '',
    ],
  );
});

test('a claim that was allocated with admin access is written also after the namespace has lost its label', async () => {
  const fixture = new AdmissionFixture();
  const plugin = createDeviceAdminAccess(fixture.reader);
  const write = (object: ResourceClaim, old: ResourceClaim) =>
    fixture.refusal(plugin, resourceClaims, { object, old, subresource: 'status' });
  const free: ResourceClaim = { metadata, spec: spec(true) };
  const plain = structuredClone(allocated);
  for (const each of plain.status?.allocation?.devices.results ?? []) each.adminAccess = false;
  assert.deepEqual(
    [
      await write(allocated, free),
      await write(allocated, plain),
      await write(allocated, allocated),
      await write(free, allocated),
      await write(plain, free),
      await write({ ...free, status: {} }, free),
    ],
    [...[1, 2].map(() => invalid('ResourceClaim', 'status.allocation.devices.results[0].adminAccess')), '', '', '', ''],
  );
});

test('claims and templates are judged at their creation, and claims when their status is written', () => {
  const fixture = new AdmissionFixture();
  const plugin = createDeviceAdminAccess(fixture.reader);
  const template = { metadata, spec: { metadata: {}, spec: spec(true) } };
  const claims = (write: object): boolean => plugin.handles(fixture.attributes(resourceClaims, write));
  const templates = (write: object): boolean => plugin.handles(fixture.attributes(resourceClaimTemplates, write));
  assert.deepEqual(
    [
      claims({ object: allocated }),
      claims({ object: allocated, old: allocated, subresource: 'status' }),
      claims({ object: allocated, old: allocated }),
      claims({ old: allocated }),
      templates({ object: template }),
      templates({ object: template, old: template }),
      plugin.handles(fixture.attributes(namespaces, { object: { metadata, spec: {} } })),
    ],
    [true, true, false, false, true, false, false],
  );
});
