import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { overlapsPrefix, parseIpPrefix } from '../../../base/ip-prefix.ts';
import { seededRandom } from '../../../base/random.ts';
import { NodeRanges } from './node-ranges.ts';

const prefix = (cidr: string): NonNullable<ReturnType<typeof parseIpPrefix>> =>
  parseIpPrefix(cidr) ?? assert.fail(`${cidr} is no range`);

describe('ranges of nodes', () => {
  it('are allocated in order, one for each IP family', () => {
    const ranges = new NodeRanges({
      clusters: [
        { cidr: '10.244.0.0/16', nodeLength: 24 },
        { cidr: 'fd00:10:244::/48', nodeLength: 64 },
      ],
      excluded: [],
    });
    assert.deepEqual(
      ['a', 'b'].map((uid) => ranges.allocate(uid)),
      [
        ['10.244.0.0/24', 'fd00:10:244::/64'],
        ['10.244.1.0/24', 'fd00:10:244:1::/64'],
      ],
    );
  });

  it('stay the same for a node until they are released, and are reused as late as possible', () => {
    const ranges = new NodeRanges({ clusters: [{ cidr: '10.0.0.0/22', nodeLength: 24 }], excluded: [] });
    assert.deepEqual(ranges.allocate('a'), ranges.allocate('a'));
    ranges.allocate('b');
    ranges.release('a');
    assert.deepEqual(ranges.allocate('c'), ['10.0.2.0/24']);
    ranges.allocate('d');
    assert.deepEqual(ranges.allocate('e'), ['10.0.0.0/24']);
    assert.equal(ranges.allocate('f'), undefined);
    ranges.release('b');
    assert.deepEqual(ranges.allocate('f'), ['10.0.1.0/24']);
  });

  it('do not overlap service ranges, whether those are smaller or larger', () => {
    const small = new NodeRanges({
      clusters: [{ cidr: '10.0.0.0/22', nodeLength: 24 }],
      excluded: ['10.0.0.128/25', '10.0.2.0/23'],
    });
    assert.deepEqual([small.allocate('a'), small.allocate('b')], [['10.0.1.0/24'], undefined]);
    const all = new NodeRanges({ clusters: [{ cidr: '10.0.0.0/22', nodeLength: 24 }], excluded: ['10.0.0.0/8'] });
    assert.equal(all.allocate('a'), undefined);
  });

  it('of one family are not allocated if the other family has none left', () => {
    const ranges = new NodeRanges({
      clusters: [
        { cidr: '10.0.0.0/23', nodeLength: 24 },
        { cidr: 'fd00::/64', nodeLength: 64 },
      ],
      excluded: [],
    });
    assert.ok(ranges.allocate('a'));
    assert.equal(ranges.allocate('b'), undefined);
    ranges.release('a');
    assert.deepEqual(ranges.allocate('b'), ['10.0.1.0/24', 'fd00::/64']);
  });

  it("that two nodes claim stay used until both are gone; ranges outside the cluster's are returned", () => {
    const ranges = new NodeRanges({ clusters: [{ cidr: '10.0.0.0/23', nodeLength: 24 }], excluded: [] });
    assert.deepEqual(ranges.occupy('a', ['10.0.0.0/24']), []);
    assert.deepEqual(ranges.occupy('b', ['10.0.0.0/24', '192.168.0.0/24', 'nonsense']), ['192.168.0.0/24', 'nonsense']);
    ranges.allocate('c');
    ranges.release('a');
    assert.equal(ranges.allocate('d'), undefined);
    ranges.release('b');
    assert.deepEqual(ranges.allocate('d'), ['10.0.0.0/24']);
  });

  it('never overlap each other or service ranges after random changes', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed);
      const below = (limit: number): number => Math.floor(random.next() * limit);
      const nodeLength = 20 + below(9);
      const excluded = [`10.0.${below(256)}.${below(256)}/${20 + below(10)}`];
      const ranges = new NodeRanges({ clusters: [{ cidr: '10.0.0.0/16', nodeLength }], excluded });
      const held = new Map<string, string>();
      const total = 2 ** (nodeLength - 16);
      let refusals = 0;
      for (let step = 0; step < 3 * total + 50; step++) {
        const uid = `node-${below(2 * total)}`;
        if (random.next() < 0.3) {
          ranges.release(uid);
          held.delete(uid);
          continue;
        }
        const cidr = ranges.allocate(uid)?.[0];
        if (cidr === undefined) {
          refusals++;
          continue;
        }
        assert.equal(held.get(uid) ?? cidr, cidr, `seed ${seed}: a node keeps its range`);
        held.set(uid, cidr);
        assert.ok(!overlapsPrefix(prefix(cidr), prefix(excluded[0] ?? '')), `seed ${seed}: ${cidr} is of services`);
      }
      assert.equal(new Set(held.values()).size, held.size, `seed ${seed}: each range has one holder`);
      const all = [...held.values()]
        .map((cidr) => prefix(cidr).first)
        .toSorted((left, right) => (left < right ? -1 : 1));
      const size = 1n << BigInt(32 - nodeLength);
      assert.ok(
        all.every((first, at) => at === 0 || first - (all[at - 1] ?? 0n) >= size),
        `seed ${seed}`,
      );
      if (refusals > 0) assert.ok(held.size <= total);
    }
  });
});
