import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { firstAddress } from './service-range.ts';

it('the service of the API server has the address after that of the network', () => {
  const first = [
    '10.96.0.0/12',
    '10.96.7.9/16',
    '192.0.2.252/30',
    '0.0.0.0/0',
    'fd00:10:96::/112',
    'fd00::5/64',
    'fd00:1:2:3:4:5:6:0/112',
    '::/0',
  ].map(firstAddress);
  assert.deepEqual(first, [
    '10.96.0.1',
    '10.96.0.1',
    '192.0.2.253',
    '0.0.0.1',
    'fd00:10:96::1',
    'fd00::1',
    'fd00:1:2:3:4:5:6:1',
    '::1',
  ]);
});

for (const range of [
  '',
  '10.96.0.0',
  '10.96.0.0/',
  '10.96.0.0/33',
  '10.96.0/12',
  '10.96.0.0/1e1',
  '10.96.0.0/12/3',
  'fd00::/129',
  'fe80::1%eth0/64',
  'services',
]) {
  it(`${JSON.stringify(range)} is not a range`, () => {
    assert.throws(
      () => firstAddress(range),
      (error) =>
        isKind(error, 'Invalid') && String(error).includes(`--service-cluster-ip-range: ${range} is not a range`),
    );
  });
}

for (const range of ['10.96.0.0/32', '10.96.0.0/31', 'fd00::1/128']) {
  it(`${range} has no room for services`, () => {
    assert.throws(
      () => firstAddress(range),
      (error) => isKind(error, 'Invalid') && String(error).includes('no room'),
    );
  });
}
