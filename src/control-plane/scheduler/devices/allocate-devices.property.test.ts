import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addQuantity, compareParsed, parseQuantity } from '../../../api/quantity.ts';
import type { Node } from '../../../api/core/node.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Device, ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { buildNode } from '../testing/builders.ts';
import { allocateDevices, MAX_TRIES } from './allocate-devices.ts';
import type { ClaimNeeds } from './allocate-devices.ts';
import type { DeviceNeed } from './device-needs.ts';
import { isTaintedFor } from './device-needs.ts';
import { poolOf, restrictedTo } from './device-pools.ts';
import type { DevicePool, PoolDevice } from './device-pools.ts';
import { DeviceUse, useOfClaims } from './device-use.ts';
import { computeConsumedCapacity } from './consumed-capacity.ts';
import { poolsOfSlices, SliceIndex } from './slice-index.ts';

const node = buildNode('n');
const sliceOf = (name: string, pool: string, devices: readonly object[], more: object = {}): ResourceSlice => ({
  metadata: { name, namespace: '', uid: name },
  spec: {
    driver: 'd',
    pool: { name: pool, generation: 1, resourceSliceCount: 1 },
    allNodes: true,
    devices: devices as Device[],
    sharedCounters: [{ name: 'card', counters: { memory: { value: '3' } } }],
    ...more,
  } as ResourceSlice['spec'],
});

const deviceArbitrary = fc.record(
  {
    numa: fc.constantFrom(0, 1),
    isShared: fc.constantFrom(false, false, true),
    capacity: fc.constantFrom('1', '2', '3'),
    counter: fc.constantFrom(undefined, '1', '2'),
    isTainted: fc.constantFrom(false, false, false, true),
  },
  { requiredKeys: ['numa', 'isShared', 'capacity', 'counter', 'isTainted'] },
);
const devicesArbitrary = fc.array(deviceArbitrary, { minLength: 1, maxLength: 4 }).map((devices) =>
  devices.map(({ numa, isShared, capacity, counter, isTainted }, index) => ({
    name: `g${index}`,
    attributes: { numa: { int: numa } },
    ...(isShared && { allowMultipleAllocations: true }),
    capacity: { memory: { value: capacity } },
    ...(counter !== undefined && {
      consumesCounters: [{ counterSet: 'card', counters: { memory: { value: counter } } }],
    }),
    ...(isTainted && { taints: [{ key: 'broken', effect: 'NoSchedule' }] }),
  })),
);
const needArbitrary = fc.record({
  count: fc.constantFrom(1, 1, 2),
  adminAccess: fc.constantFrom(false, false, false, true),
  asked: fc.constantFrom(undefined, '1', '2'),
});
const claimArbitrary = fc.record({
  requests: fc.array(fc.array(needArbitrary, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  isMatched: fc.boolean(),
});

function needsOf({ requests, isMatched }: typeof claimArbitrary extends fc.Arbitrary<infer T> ? T : never): ClaimNeeds {
  return {
    requests: requests.map((ways, index) =>
      ways.map(
        ({ count, adminAccess, asked }, way): DeviceNeed => ({
          request: `r${index}/w${way}`,
          className: 'c',
          count,
          adminAccess,
          tolerations: [],
          expressions: [],
          capacity: asked === undefined ? undefined : { requests: { memory: asked } },
        }),
      ),
    ),
    constraints: isMatched ? [{ matchAttribute: 'd/numa' }] : [],
  };
}

/** Yields every assignment of devices to the claims, valid or not. */
function* assignments(claims: readonly ClaimNeeds[], devices: readonly PoolDevice[]): Generator<Choice[][]> {
  const [first, ...rest] = claims;
  if (first === undefined) return void (yield []);
  for (const picks of choices(first.requests, devices))
    for (const others of assignments(rest, devices)) yield [picks, ...others];
}
interface Choice {
  readonly need: DeviceNeed;
  readonly device: PoolDevice;
}
function* choices(requests: ClaimNeeds['requests'], devices: readonly PoolDevice[]): Generator<Choice[]> {
  const [ways, ...rest] = requests;
  if (ways === undefined) return void (yield []);
  for (const need of ways)
    for (const own of tuples(devices, need.count ?? 0))
      for (const others of choices(rest, devices)) yield [...own.map((device) => ({ need, device })), ...others];
}
function* tuples(devices: readonly PoolDevice[], count: number): Generator<PoolDevice[]> {
  if (count === 0) return void (yield []);
  for (const [index, device] of devices.entries())
    for (const rest of tuples(devices.slice(index), count - 1)) yield [device, ...rest];
}

/** Checks the allocation rules directly, without a search. */
function isValid(claims: readonly ClaimNeeds[], picks: readonly (readonly Choice[])[], pool: DevicePool): boolean {
  const all = picks.flat();
  for (const [index, { constraints }] of claims.entries()) {
    const values = new Set((picks[index] ?? []).map(({ device }) => device.device.attributes?.['numa']?.int));
    if (constraints.length > 0 && values.size > 1) return false;
    const own = (picks[index] ?? []).filter(({ device }) => !isMulti(device)).map(({ device }) => device.key);
    if (new Set(own).size < own.length) return false;
  }
  for (const { device, need } of all) {
    if (isTaintedFor(device.device.taints, need.tolerations)) return false;
    if (computeConsumedCapacity(need.capacity, device.device.capacity) === undefined) return false;
  }
  const charged = all.filter(({ need }) => !need.adminAccess);
  for (const device of pool.devices) {
    const users = charged.filter((each) => each.device.key === device.key);
    if (!isMulti(device) && users.length > 1) return false;
    if (isMulti(device) && !hasRoom(device, users)) return false;
  }
  const used = pool.devices.filter((device) => charged.some((each) => each.device.key === device.key));
  const counters = used.map(({ device }) => Number(device.consumesCounters?.[0]?.counters?.['memory']?.value ?? 0));
  return counters.reduce((sum, each) => sum + each, 0) <= 3;
}
const isMulti = ({ device }: PoolDevice): boolean => device.allowMultipleAllocations === true;
function hasRoom({ device }: PoolDevice, users: readonly Choice[]): boolean {
  const shares = users.flatMap(({ need }) => [
    ...(computeConsumedCapacity(need.capacity, device.capacity)?.values() ?? []),
  ]);
  const total = shares.reduce((sum, each) => addQuantity(sum, each), parseQuantity('0'));
  return compareParsed(total, parseQuantity(device.capacity?.['memory']?.value ?? '0')) <= 0;
}

describe('the allocation of devices', () => {
  it('finds an allocation exactly when a valid one exists', () => {
    fc.assert(
      fc.property(devicesArbitrary, fc.array(claimArbitrary, { minLength: 1, maxLength: 2 }), (devices, claims) => {
        const pools = poolsOfSlices([sliceOf('s', 'p', devices)]).forNode(node);
        const [pool] = pools;
        assert.ok(pool);
        const needs = claims.map(needsOf);
        const picks = allocateDevices(needs, pools, useOfClaims([]));
        if (picks !== undefined) assert.ok(isValid(needs, picks, pool), JSON.stringify(picks));
        const exists = [...assignments(needs, pool.devices)].some((each) => isValid(needs, each, pool));
        assert.equal(picks !== undefined, exists);
      }),
      { numRuns: 300 },
    );
  });

  it('stops a search at its limit, for one node and for one pod', () => {
    const devices = Array.from({ length: 128 }, (_, index) => ({
      name: `g${index}`,
      attributes: { id: { int: index } },
    }));
    const pools = poolsOfSlices([sliceOf('s', 'p', devices)]).forNode(node);
    const need = (request: string): DeviceNeed[] =>
      Array.from({ length: 8 }, (_, way) => ({
        request: `${request}/${way}`,
        className: 'c',
        count: 16,
        adminAccess: false,
        tolerations: [],
        expressions: [],
        capacity: undefined,
      }));
    const claim: ClaimNeeds = { requests: [need('a'), need('b')], constraints: [{ matchAttribute: 'd/id' }] };
    const budget = { left: 3 * MAX_TRIES };
    for (let round = 0; round < 5; round++)
      assert.equal(allocateDevices([claim], pools, useOfClaims([]), budget), undefined);
    assert.ok(budget.left <= 0);
  });
});

describe('the index of slices', () => {
  const sliceArbitrary = fc.record({
    name: fc.constantFrom('s1', 's2', 's3'),
    pool: fc.constantFrom('p', 'q'),
    generation: fc.constantFrom(1, 2),
    reach: fc.constantFrom({ nodeName: 'n' }, { nodeName: 'm' }, { allNodes: true }),
    isGone: fc.constantFrom(false, false, true),
  });
  it('returns the same pools as a full scan of the slices', () => {
    fc.assert(
      fc.property(fc.array(sliceArbitrary, { maxLength: 12 }), (changes) => {
        const index = new SliceIndex();
        const known = new Map<string, ResourceSlice>();
        for (const { name, pool, generation, reach, isGone } of changes) {
          const after = isGone
            ? undefined
            : sliceOf(name, pool, [{ name: `g-${name}` }], {
                allNodes: undefined,
                ...reach,
                pool: { name: pool, generation, resourceSliceCount: 1 },
              });
          index.set(known.get(name), after);
          if (after === undefined) known.delete(name);
          else known.set(name, after);
        }
        for (const each of [node, buildNode('m'), buildNode('x')])
          assert.deepEqual(index.forNode(each), naivePools(each, [...known.values()]));
      }),
    );
  });
  function naivePools(of: Node, slices: readonly ResourceSlice[]): DevicePool[] {
    const groups = Map.groupBy(slices, ({ spec }) => spec.pool.name);
    return [...groups.keys()].sort().flatMap((name) => {
      const pool = poolOf(groups.get(name) ?? []);
      return (pool === undefined ? undefined : restrictedTo(pool, of)) ?? [];
    });
  }
});

describe('the index of devices in use', () => {
  const resultArbitrary = fc.record(
    {
      device: fc.constantFrom('g0', 'g1'),
      shareID: fc.constantFrom(undefined, 'x', 'y'),
      adminAccess: fc.constantFrom(undefined, true),
      amount: fc.constantFrom('1', '500m', '2Gi'),
    },
    { requiredKeys: ['device', 'amount', 'shareID', 'adminAccess'] },
  );
  it('returns the same devices as a full scan of the claims, also with changes on top of a base', () => {
    const change = fc.record({
      claim: fc.constantFrom('a', 'b'),
      results: fc.array(resultArbitrary, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(change), fc.nat(10), (changes, split) => {
        const known = new Map<string, ResourceClaim>();
        let use = new DeviceUse();
        for (const [at, { claim, results }] of changes.entries()) {
          if (at === split) use = new DeviceUse(use);
          const after = claimWith(claim, results);
          use.set(known.get(claim), after);
          known.set(claim, after);
        }
        const all = [...known.values()].flatMap(({ status }) => status?.allocation?.devices.results ?? []);
        for (const device of ['g0', 'g1']) {
          const own = all.filter((each) => each.device === device && each.adminAccess !== true);
          const shares = own.filter(({ shareID }) => shareID !== undefined);
          assert.equal(use.isTaken(`d/p/${device}`), own.length > shares.length);
          assert.equal(use.isShared(`d/p/${device}`), shares.length > 0);
          const total = shares.reduce(
            (sum, { consumedCapacity }) => addQuantity(sum, parseQuantity(consumedCapacity?.['memory'] ?? '0')),
            parseQuantity('0'),
          );
          assert.equal(use.consumed(`d/p/${device}`).get('memory')?.nanos ?? 0n, total.nanos);
        }
      }),
    );
  });
  function claimWith(
    name: string,
    results: readonly { device: string; shareID: string | undefined; adminAccess: true | undefined; amount: string }[],
  ): ResourceClaim {
    const allocation: AllocationResult = {
      devices: {
        results: results.map(({ device, shareID, adminAccess, amount }) => ({
          request: 'r',
          driver: 'd',
          pool: 'p',
          device,
          ...(adminAccess === true && { adminAccess }),
          ...(shareID !== undefined && { shareID, consumedCapacity: { memory: amount } }),
        })),
      },
    };
    return { metadata: { name, namespace: 'default', uid: name }, spec: { devices: {} }, status: { allocation } };
  }
});

it('rounds requested shares up to the next amount that the device policy allows', () => {
  const rows: readonly (readonly [string | undefined, object, string | undefined])[] = [
    [undefined, {}, '10Gi'],
    ['3Gi', {}, '3Gi'],
    ['11Gi', {}, undefined],
    [undefined, { default: '1Gi', validValues: ['1Gi', '2Gi'] }, '1Gi'],
    ['1500Mi', { default: '1Gi', validValues: ['1Gi', '2Gi'] }, '2Gi'],
    ['3Gi', { default: '1Gi', validValues: ['1Gi', '2Gi'] }, undefined],
    ['100Mi', { default: '1Gi', validRange: { min: '1Gi' } }, '1Gi'],
    ['2500Mi', { default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } }, '3Gi'],
    ['5Gi', { default: '1Gi', validRange: { min: '1Gi', max: '4Gi' } }, undefined],
  ];
  for (const [asked, policy, expected] of rows) {
    const capacity = { memory: { value: '10Gi', ...(Object.keys(policy).length > 0 && { requestPolicy: policy }) } };
    const requests = asked === undefined ? undefined : { requests: { memory: asked } };
    const amount = computeConsumedCapacity(requests, capacity)?.get('memory');
    assert.equal(amount?.nanos, expected === undefined ? undefined : parseQuantity(expected).nanos, `${asked}`);
  }
  assert.equal(computeConsumedCapacity({ requests: { other: '1' } }, {}), undefined);
});
