import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DeviceAllocation } from '../../ports/device-plugins.ts';
import { emptyAllocation, FakeDevicePlugins } from '../../ports/testing/fake-device-plugins.ts';
import type { AllocationCodec, DeviceCheckpointData } from './checkpoint-format.ts';
import { decodeDeviceCheckpoint, encodeDeviceCheckpoint } from './checkpoint-format.ts';
import { heldDevices } from './pod-devices.ts';

/** A file that upstream's kubelet wrote and users published. */
const fromUpstream = [
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["GPU-0650a168-e770-3ea8-8ac3-8a1d419763e0"]}},"Checksum":3952659280}',
  '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
];

/** A codec that keeps the bytes unchanged. */
const bytes: AllocationCodec = {
  decodeAllocation: (data) => ({ ...emptyAllocation, envs: { bytes: Buffer.from(data).toString('hex') } }),
  encodeAllocation: ({ envs }) => Buffer.from(envs['bytes'] ?? '', 'hex'),
};

describe('the device checkpoint', () => {
  it('reads and writes what upstream wrote, to the byte', () => {
    for (const text of fromUpstream) {
      const data = decodeDeviceCheckpoint(text, bytes);
      assert.ok(data !== undefined, text);
      assert.equal(encodeDeviceCheckpoint(data, bytes), text);
    }
    const [held] = decodeDeviceCheckpoint(fromUpstream[1] ?? '', bytes)?.held ?? [];
    assert.deepEqual([held?.container, held?.resource, held?.held.ids], ['check', 'nvidia.com/gpu', ['tegra']]);
  });

  it('reads back whatever was written', () => {
    const codec = new FakeDevicePlugins();
    const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((one) => one !== '__proto__');
    const allocation: fc.Arbitrary<DeviceAllocation> = text.map((value) => ({
      ...emptyAllocation,
      envs: { A: value },
    }));
    const entry = fc
      .record({ uid: text, container: text, resource: text, ids: fc.uniqueArray(text, { minLength: 1 }), allocation })
      .map(({ uid, container, resource, ids, allocation: given }) => ({
        uid,
        container,
        resource,
        held: heldDevices(ids, new Map(), given),
      }));
    const place = (one: { uid: string; container: string; resource: string }) =>
      `${one.uid}/${one.container}/${one.resource}`;
    const data: fc.Arbitrary<DeviceCheckpointData> = fc.record({
      held: fc.uniqueArray(entry, { selector: place, maxLength: 5 }),
      registered: fc
        .uniqueArray(fc.tuple(text, fc.array(text)), { selector: ([name]) => name })
        .map((all) => new Map(all)),
    });
    fc.assert(
      fc.property(data, (given) => {
        const read = decodeDeviceCheckpoint(encodeDeviceCheckpoint(given, codec), codec);
        const sorted = given.held.toSorted((left, right) => (place(left) < place(right) ? -1 : 1));
        assert.deepEqual(read?.held, sorted);
        assert.deepEqual(read?.registered, new Map(given.registered));
      }),
    );
  });

  it('refuses every truncation and every changed character', () => {
    const [, text = ''] = fromUpstream;
    for (let length = 0; length < text.length; length++)
      assert.equal(decodeDeviceCheckpoint(text.slice(0, length), bytes), undefined, String(length));
    for (const from of ['tegra', 'check', '3660592824', 'bf52', 'Ch8K', '-1']) {
      const last = from.slice(-1);
      const other = `${from.slice(0, -1)}${last === '1' ? '2' : '1'}`;
      assert.equal(decodeDeviceCheckpoint(text.replace(from, other), bytes), undefined, from);
    }
  });

  it('refuses other shapes', () => {
    for (const text of ['null', '[]', '{}', '{"Data":{"PodDeviceEntries":{},"RegisteredDevices":{}},"Checksum":1}'])
      assert.equal(decodeDeviceCheckpoint(text, bytes), undefined, text);
  });
});
