import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { crc32, decodeClaims, encodeClaims } from './claim-checkpoint.ts';
import { decodeHealth } from './health-checkpoint.ts';

const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', ''));
const deviceArbitrary = fc.record({
  poolName: name,
  deviceName: name,
  shareId: fc.option(name, { nil: undefined }),
  requestNames: fc.array(name, { maxLength: 2 }),
  cdiDeviceIds: fc.array(name, { maxLength: 2 }),
});
const claimArbitrary = fc.record({
  uid: name,
  name,
  namespace: name,
  podUids: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/), { maxLength: 3 }),
  drivers: fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z.]{1,8}$/), fc.array(deviceArbitrary, { maxLength: 2 })), {
    maxLength: 2,
    selector: ([driver]) => driver,
  }),
});

it('any claims are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(claimArbitrary, { maxLength: 3 }), (claims) => {
      const kept = claims.map((claim) => ({
        ...claim,
        podUids: new Set(claim.podUids.toSorted()),
        drivers: new Map(claim.drivers.map(([driver, devices]) => [driver, devices.map((device) => ({ ...device }))])),
      }));
      assert.deepEqual(decodeClaims(encodeClaims(kept)), kept);
    }),
  );
});

it('no text with a right checksum breaks the reading, whatever it says', () => {
  const parts = ['ClaimInfoStateList', 'DriverState', 'Devices', 'PodUIDs', 'ClaimUID', 'ClaimName', 'Namespace'];
  const value = fc.jsonValue();
  const entry = fc.dictionary(fc.constantFrom(...parts, 'RequestNames', '__proto__'), value);
  const file = fc.oneof(value, fc.record({ ClaimInfoStateList: fc.oneof(value, fc.array(entry)) }));
  fc.assert(
    fc.property(file, (content) => {
      const data = JSON.stringify(content);
      const claims = decodeClaims(JSON.stringify({ Data: data, Checksum: crc32(data) }));
      for (const claim of claims ?? []) assert.equal(typeof claim.uid, 'string');
      for (const devices of decodeHealth(data, 0).values())
        for (const { ageMs } of devices) assert.ok(Number.isFinite(ageMs));
    }),
  );
});
