import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatCpuSet, parseCpuSet } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import { asymmetric, dualSocket, machines, subNumaClusters } from '../../model/testing/machines.ts';
import { CpuTopology } from './cpu-topology.ts';
import { computeShares, distributeCpus, standardDeviation } from './distribute-cpus.ts';
import type { TakeOptions } from './take-cpus.ts';
import { takeCpus } from './take-cpus.ts';
import { naiveTake } from './testing/naive-take.ts';

const cpus = (text: string): Set<number> => new Set(parseCpuSet(text));
const taken = (
  machine: keyof typeof machines,
  free: string,
  count: number,
  options?: TakeOptions,
): string | undefined => {
  const topology = new CpuTopology(machines[machine] ?? dualSocket);
  const result = takeCpus(topology, free === 'all' ? topology.all : cpus(free), count, options);
  return result === undefined ? undefined : formatCpuSet(result);
};
const dual = 'two sockets, two NUMA nodes each, SMT';
const clusters = 'sub-NUMA clustering';
const caches = 'eight last-level caches';

describe('CPUs are taken as close together as possible', () => {
  it('one CPU from the first core', () => assert.equal(taken(dual, 'all', 1), '0'));
  it('both threads of a core', () => assert.equal(taken(dual, 'all', 2), '0,24'));
  it('a whole NUMA node, then a whole socket', () => {
    assert.equal(taken(dual, 'all', 12), '0-5,24-29');
    assert.equal(taken(dual, 'all', 24), '0-11,24-35');
  });
  it('from the fullest socket, so that the other stays whole', () =>
    assert.equal(taken(dual, '0-11,20-23,24-47', 4), '20-21,44-45'));
  it('single CPUs from cores that are in use already', () => assert.equal(taken(dual, '0-23,25-47', 1), '0'));
  it('nothing when there are too few', () => assert.equal(taken(dual, '0-3', 5), undefined));
  it('nodes of a divided socket one by one', () => assert.equal(taken(clusters, 'all', 12), '0-5,16-21'));
});

describe('with options', () => {
  it('whole caches come before cores', () => {
    assert.equal(taken(caches, 'all', 8, { alignUncore: true }), '0-3,32-35');
    assert.equal(taken(caches, '1-63', 8, { alignUncore: true }), '4-7,36-39');
    assert.equal(taken(caches, '1-63', 8), '1-4,33-36');
  });
  it('a part of a request fits one cache if any has room for it', () =>
    assert.equal(taken(caches, '0-3,32-33,4-7,36-39', 6, { alignUncore: true }), '0-3,32-33'));
  it('CPUs of different cores', () => assert.equal(taken(dual, 'all', 4, { spread: true }), '0-3'));
});

/**
 * For each NUMA node: all of its CPUs, none, whole cores or any. Arbitrary CPUs alone would hardly ever leave a node
 * whole.
 */
function freeCpus({ nodes }: MachineTopology): fc.Arbitrary<Set<number>> {
  const perNode = nodes.map(({ cores }) => {
    const whole = cores.map(({ cpus: threads }) => [...threads]);
    return fc.oneof(
      fc.constant(whole.flat()),
      fc.constant([]),
      fc.subarray(whole).map((some) => some.flat()),
      fc.subarray(whole.flat()),
    );
  });
  return fc.tuple(...perNode).map((some) => new Set(some.flat()));
}

describe('any machine, any free CPUs', () => {
  for (const [name, machine] of Object.entries(machines)) {
    const topology = new CpuTopology(machine);
    const request = fc.record({
      free: freeCpus(machine),
      count: fc.nat(topology.all.size + 1),
      spread: fc.boolean(),
      alignUncore: fc.boolean(),
    });

    it(`${name}: exactly as many as asked for, of the free ones, or nothing`, () => {
      fc.assert(
        fc.property(request, ({ free, count, ...options }) => {
          const result = takeCpus(topology, free, count, options);
          if (count > free.size) return result === undefined;
          return result?.size === count && result.isSubsetOf(free);
        }),
      );
    });

    it(`${name}: the same as a naive search`, () => {
      fc.assert(
        fc.property(request, ({ free, count }) => {
          const [fast, slow] = [takeCpus(topology, free, count), naiveTake(topology, free, count)];
          assert.equal(fast && formatCpuSet(fast), slow && formatCpuSet(slow));
        }),
      );
    });

    it(`${name}: distributed in equal shares, from as few nodes as a search of all sets finds`, () => {
      fc.assert(
        fc.property(request, fc.constantFrom(1, 2), ({ free, count }, groupSize) => {
          const result = distributeCpus(topology, free, count, groupSize);
          if (count > free.size) return assert.equal(result, undefined);
          assert.equal(result?.size, count);
          assert.ok(result?.isSubsetOf(free));
          if (count === 0 || count % groupSize !== 0) return;
          const shares = computeShares(topology, free, { count, groupSize });
          assert.equal(shares?.size, naiveNodes(topology, free, { count, groupSize }));
          if (shares === undefined) return;
          const given = [...shares.values()];
          const even = Math.floor(count / given.length / groupSize) * groupSize;
          assert.ok(given.every((share) => share >= even && share % groupSize === 0));
          assert.equal(
            given.reduce((sum, share) => sum + share, 0),
            count,
          );
        }),
      );
    });

    it(`${name}: of equally few nodes those give that leave the free CPUs most even`, () => {
      fc.assert(
        fc.property(request, fc.constantFrom(1, 2), ({ free, count }, groupSize) => {
          const asked = { count: Math.min(count, free.size) * groupSize, groupSize };
          const shares = computeShares(topology, free, asked);
          if (shares === undefined || asked.count === 0) return;
          const left = topology.countByNuma(free).map((amount, index) => {
            return amount - (shares.get(topology.numaIds[index] ?? -1) ?? 0);
          });
          const used = left.filter((_, index) => (topology.countByNuma(free)[index] ?? 0) > 0);
          assert.ok(standardDeviation(used) <= naiveBalance(topology.countByNuma(free), shares.size, asked));
        }),
      );
    });
  }
});

/** Returns the smallest set of nodes that can each give an equal share, and together enough groups. */
function naiveNodes(
  topology: CpuTopology,
  free: ReadonlySet<number>,
  { count, groupSize }: { count: number; groupSize: number },
): number | undefined {
  const counts = topology.countByNuma(free);
  let best: number | undefined;
  for (let mask = 1; mask < 2 ** counts.length; mask += 1) {
    const own = counts.filter((amount, position) => ((mask >> position) & 1) === 1 && amount > 0);
    if (own.length === 0 || own.length > count / groupSize) continue;
    const share = Math.floor(count / own.length / groupSize) * groupSize;
    const groups = own.reduce((sum, amount) => sum + Math.floor(amount / groupSize), 0);
    if (own.every((amount) => amount >= share) && groups * groupSize >= count)
      best = Math.min(best ?? Infinity, own.length);
  }
  return best;
}

/**
 * Returns the most even remainder, over all sets of `size` nodes that give equal shares, of which some give one group
 * more.
 */
function naiveBalance(
  counts: readonly number[],
  size: number,
  { count, groupSize }: { count: number; groupSize: number },
): number {
  const nodes = counts.filter((amount) => amount > 0);
  const share = Math.floor(count / size / groupSize) * groupSize;
  const extra = (count - share * size) / groupSize;
  const bits = (mask: number): number => nodes.filter((_, index) => (mask >> index) & 1).length;
  let best = Infinity;
  for (let giving = 0; giving < 2 ** nodes.length; giving += 1) {
    for (let more = 0; more < 2 ** nodes.length; more += 1) {
      if ((giving & more) !== more || bits(giving) !== size || bits(more) !== extra) continue;
      const left = nodes.map((amount, index) => {
        const groups = (more >> index) & 1;
        return (giving >> index) & 1 ? amount - share - groups * groupSize : amount;
      });
      if (left.every((amount) => amount >= 0)) best = Math.min(best, standardDeviation(left));
    }
  }
  return best;
}

it('the standard deviation is that of the whole set, to three digits', () => {
  assert.deepEqual([[2, 4, 4, 4, 5, 5, 7, 9], [3], [1, 2]].map(standardDeviation), [2, 0, 0.5]);
  assert.equal(standardDeviation([1, 2, 4]), 1.247);
});

it('of equally few nodes those are used that leave the free CPUs most even', () => {
  const topology = new CpuTopology(subNumaClusters);
  const free = topology.all.difference(cpus('0,16,4'));
  const result = distributeCpus(topology, free, 12, 1) ?? new Set();
  const left = topology.countByNuma(free.difference(result));
  assert.deepEqual(topology.countByNuma(result), [0, 0, 6, 6]);
  assert.equal(standardDeviation(left), standardDeviation([6, 7, 2, 2]));
});

it('a core of one thread counts as whole beside cores of two', () => {
  const topology = new CpuTopology(asymmetric);
  assert.equal(formatCpuSet(takeCpus(topology, topology.all, 2) ?? []), '8-9');
  assert.equal(formatCpuSet(takeCpus(topology, cpus('0-5'), 2) ?? []), '4-5');
  assert.deepEqual(topology.countByNuma(topology.all), [6, 2, 0]);
});
