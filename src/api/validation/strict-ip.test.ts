import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkStrictCidr, checkStrictIp } from './names.ts';

const noIp = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const zeros = 'must not have leading 0s';
const mapped = 'must not be an IPv4-mapped IPv6 address';

/** As in upstream's IsValidIP with strict validation: bytes are checked, not the notation. */
const addresses: Readonly<Record<string, string | undefined>> = {
  '10.9.8.7': undefined,
  '127.0.0.1': undefined,
  '010.009.008.007': zeros,
  '10.9.8': noIp,
  '0x7f000001': noIp,
  '2130706433': noIp,
  '': noIp,
  ' 10.9.8.7': noIp,
  '::1': undefined,
  '0:0:0:0:0:0:0:1': undefined,
  '2001:db8::ffff': undefined,
  '2001:0DB8:0000::0001': undefined,
  'fe80::1%eth0': noIp,
  '[::1]': noIp,
  '00000::1': noIp,
  '::ffff:127.0.0.1': mapped,
  '::FFFF:127.0.0.1': mapped,
  '::ffff:7f00:1': mapped,
  '::ffff:7F00:0001': mapped,
  '0:0:0:0:0:ffff:7f00:1': mapped,
  '0000:0000:0000:0000:0000:ffff:7f00:0001': mapped,
  '0::ffff:a9fe:a9fe': mapped,
  '::ffff:0:0': mapped,
  '::ffff:ffff:ffff': mapped,
  '::ffff:010.0.0.1': zeros,
  '::ffff:256.0.0.1': noIp,
  // These contain IPv4 addresses, but are not IPv4-mapped.
  '::127.0.0.1': undefined,
  '::7f00:1': undefined,
  '64:ff9b::7f00:1': undefined,
  '::ffff:0:7f00:1': undefined,
  '::fffe:7f00:1': undefined,
  '1::ffff:7f00:1': undefined,
};

const ranges: Readonly<Record<string, string | undefined>> = {
  '10.0.0.0/8': undefined,
  '::ffff:10.0.0.0/104': 'must not have an IPv4-mapped IPv6 address',
  '::ffff:a00:0/104': 'must not have an IPv4-mapped IPv6 address',
  '0:0:0:0:0:FFFF:0A00:0000/104': 'must not have an IPv4-mapped IPv6 address',
  '::fffe:a00:0/112': undefined,
};

describe('addresses in new fields', () => {
  for (const [address, complaint] of Object.entries(addresses))
    it(`${JSON.stringify(address)}: ${complaint ?? 'taken'}`, () =>
      assert.deepEqual(checkStrictIp(address), complaint === undefined ? [] : [complaint]));
  for (const [range, complaint] of Object.entries(ranges))
    it(`${range}: ${complaint ?? 'taken'}`, () =>
      assert.deepEqual(checkStrictCidr(range), complaint === undefined ? [] : [complaint]));
});
