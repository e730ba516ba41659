import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { IdRange } from './id-pool.ts';
import { computeIdPool, defaultIds, isPieceOf, overlap, parseSubIds, selectRange } from './id-pool.ts';
import { encodeMappings, parseMappings } from './mappings-file.ts';

const pool = (idsPerPod: number, maxPods: number, ids = defaultIds(idsPerPod)): ReturnType<typeof computeIdPool> =>
  computeIdPool({ idsPerPod, maxPods, ids });
const refused = (why: string): { kind: string; message: string } => ({
  kind: 'Invalid',
  message: `create user namespace manager: ${why}`,
});

describe('the ids a node may allocate', () => {
  test('are all but the first 65536 where none are assigned', () => {
    assert.deepEqual(pool(65_536, 110), { firstId: 65_536, pieces: 65_535, idsPerPod: 65_536 });
    assert.deepEqual(pool(131_072, 110), { firstId: 131_072, pieces: 32_767, idsPerPod: 131_072 });
  });

  test("are rejected in upstream's words when they cannot be divided among the pods", () => {
    assert.throws(() => pool(65_537, 1), refused('kubelet user namespace length 65537 is not a multiple of 65536'));
    assert.throws(
      () => pool(65_536, 1, { hostId: 100_000, length: 65_536 }),
      refused('kubelet user assigned ID 100000 is not a multiple of 65536'),
    );
    assert.throws(
      () => pool(65_536, 1, { hostId: 0, length: 65_536 }),
      refused('kubelet user assigned ID 0 must be greater or equal to 65536'),
    );
    assert.throws(
      () => pool(65_536, 1, { hostId: 65_536, length: 65_537 }),
      refused('kubelet user assigned IDs length 65537 is not a multiple of 65536'),
    );
    assert.throws(
      () => pool(65_536, 110, { hostId: 65_536, length: 65_536 * 109 }),
      refused('kubelet user assigned IDs are not enough to support 110 pods'),
    );
    assert.throws(
      () => pool(65_536 * 3, 1),
      refused('kubelet user assigned IDs length 4294770688 is not a multiple of 196608'),
    );
  });

  test('are read from what getsubids prints', () => {
    assert.deepEqual(parseSubIds('0: kubelet 65536 2147483648\n'), { hostId: 65_536, length: 2_147_483_648 });
    for (const bad of [
      '',
      '0: kubelet 65536\n',
      '0: kubelet 65536 1 1',
      '0: kubelet x 65536',
      '0: kubelet 65536 4294967296',
      '0: kubelet 1 1\n1: kubelet 2 2\n',
    ])
      assert.throws(() => parseSubIds(bad), { kind: 'Invalid' }, bad);
  });
});

test('allocated ranges are from the pool and do not overlap, until there are none left', () => {
  const ids = fc.record({
    pieces: fc.integer({ min: 1, max: 12 }),
    randoms: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 14, maxLength: 14 }),
    foreign: fc.array(
      fc.record({ hostId: fc.integer({ min: 0, max: 20 * 65_536 }), length: fc.constantFrom(65_536, 131_072) }),
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(ids, ({ pieces, randoms, foreign }) => {
      const small = { firstId: 65_536, pieces, idsPerPod: 65_536 };
      const taken: IdRange[] = [...foreign];
      for (const random of randoms) {
        const range = selectRange(small, taken, random);
        const free = Array.from({ length: pieces }, (_, piece) => ({
          hostId: 65_536 * (piece + 1),
          length: 65_536,
        })).filter((piece) => !taken.some((other) => overlap(piece, other)));
        assert.equal(range === undefined, free.length === 0);
        if (range === undefined) return;
        assert.ok(isPieceOf(small, range) && !taken.some((other) => overlap(range, other)));
        taken.push(range);
      }
    }),
  );
});

describe('the file of a pod', () => {
  test("is upstream's, and is read back", () => {
    const text = encodeMappings({ hostId: 131_072, length: 65_536 });
    assert.equal(
      text,
      '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}',
    );
    assert.deepEqual(parseMappings(text), { hostId: 131_072, length: 65_536 });
  });

  test('is rejected when it has content the agent did not write', () => {
    const one = (fields: object): object[] => [{ hostId: 65_536, containerId: 0, length: 65_536, ...fields }];
    const cases: [unknown, RegExp][] = [
      [{}, /no more than one mapping allowed/],
      [{ uidMappings: [...one({}), ...one({})], gidMappings: one({}) }, /no more than one mapping allowed/],
      [{ uidMappings: one({}), gidMappings: [] }, /GID and UID mappings should be identical/],
      [{ uidMappings: one({}), gidMappings: one({ hostId: 0 }) }, /GID and UID mapping should be identical/],
      [{ uidMappings: one({ containerId: 1 }), gidMappings: one({ containerId: 1 }) }, /UID 0 must be mapped/],
      [{ uidMappings: one({ hostId: -1 }) }, /invalid user namespace mappings file/],
      [{ uidMappings: 'x' }, /invalid user namespace mappings file/],
      [null, /invalid user namespace mappings file/],
    ];
    for (const [value, message] of cases) assert.throws(() => parseMappings(JSON.stringify(value)), message);
    assert.throws(() => parseMappings('{"uidMappings": [{'), /invalid user namespace mappings file/);
  });
});
