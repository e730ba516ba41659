import assert from 'node:assert/strict';
import test from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { serviceCidrs } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { canonicalRange, ensureDefaultServiceCidr } from './default-service-cidr.ts';

test('the ranges of the flag are shown by one ServiceCIDR, which is ready and made once', async () => {
  const api = new FakeApiClient({ clock: new FakeClock(), random: seededRandom(1) });
  for (let start = 0; start < 2; start++) await ensureDefaultServiceCidr(api, ['10.96.3.4/12', 'fd00::/108'], 0);
  const [only, ...others] = api.all(serviceCidrs);
  assert.deepEqual([only?.metadata.name, only?.spec.cidrs, others], ['kubernetes', ['10.96.0.0/12', 'fd00::/108'], []]);
  assert.deepEqual(
    only?.status?.conditions?.map(({ type, status }) => `${type} ${status}`),
    ['Ready True'],
  );
});

test('a range has no bits beyond its prefix', () => {
  assert.deepEqual(['10.96.7.9/16', '10.0.0.255/25', 'FD00:0:0:1::5/64', '192.0.2.1/32'].map(canonicalRange), [
    '10.96.0.0/16',
    '10.0.0.128/25',
    'fd00:0:0:1::/64',
    '192.0.2.1/32',
  ]);
});
