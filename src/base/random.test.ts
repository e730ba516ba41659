import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jitter, seededRandom, systemRandom } from './random.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const draw = (seed: number, count: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

describe('chance', () => {
  it('gives the same sequence for the same seed, and another for another seed', () => {
    assert.deepEqual(draw(42, 100), draw(42, 100));
    assert.deepEqual(draw(42, 2), [0.6011037519201636, 0.44829055899754167]);
    assert.notDeepEqual(draw(42, 3), draw(43, 3));
  });

  it('spreads evenly over [0, 1)', () => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const value of draw(7, 10_000)) tenths[Math.floor(value * 10)]!++;
    assert.ok(
      tenths.every((count) => count > 850 && count < 1150),
      tenths.join(' '),
    );
  });

  it('makes version 4 UUIDs that differ', () => {
    const random = seededRandom(1);
    const uuids = Array.from({ length: 100 }, () => random.uuid());
    assert.ok([...uuids, systemRandom.uuid()].every((uuid) => UUID_V4.test(uuid)));
    assert.equal(new Set(uuids).size, 100);
  });

  it('stretches by at least zero and less than the factor', () => {
    assert.equal(jitter({ next: () => 0, uuid: () => '' }, 60_000, 0.5), 60_000);
    assert.ok(jitter({ next: () => 0.999999, uuid: () => '' }, 60_000, 0.5) < 90_000);
  });
});
