import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CapacityFacts } from './allocatable.ts';
import {
  computeAllocatable,
  computeCapacity,
  computePodsLimits,
  computeReservation,
  reservationProblem,
  withReservedCpus,
} from './allocatable.ts';

const GI = 2 ** 30;
const machine: CapacityFacts = {
  cores: 4,
  memoryBytes: 8 * GI,
  storageBytes: 100 * GI,
  hugePages: [],
  maxPods: 110,
  podsPerCore: 0,
};
const nothing = { kube: {}, system: {}, evictionHard: {} };

describe('the capacity of the node', () => {
  it("the node's capacity comes from the facts of the machine", () => {
    assert.deepEqual(computeCapacity(machine), { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi', pods: '110' });
  });

  it('names each size of huge pages, also one without pages', () => {
    const hugePages = [
      { sizeBytes: 2 ** 21, totalBytes: 2 ** 23 },
      { sizeBytes: GI, totalBytes: 0 },
    ];
    const { 'hugepages-2Mi': small, 'hugepages-1Gi': large } = computeCapacity({ ...machine, hugePages });
    assert.deepEqual([small, large], ['8Mi', '0']);
  });

  it("the node's capacity has as many pods as fit the cores, at most the maximum", () => {
    assert.equal(computeCapacity({ ...machine, podsPerCore: 10 })['pods'], '40');
    assert.equal(computeCapacity({ ...machine, podsPerCore: 100 })['pods'], '110');
  });

  it('excludes a disk that could not be read', () => {
    assert.equal('ephemeral-storage' in computeCapacity({ ...machine, storageBytes: undefined }), false);
  });
});

describe('the allocatable resources', () => {
  it('are the capacity without the reservations for Kubernetes, the system and eviction', () => {
    const capacity = computeCapacity(machine);
    const reservation = computeReservation(capacity, {
      kube: { cpu: '100m', memory: '1Gi', pid: '100' },
      system: { cpu: '0.4', 'ephemeral-storage': '1Gi' },
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'imagefs.available': '15%' },
    });
    assert.deepEqual(reservation, { cpu: '500m', memory: '1124Mi', 'ephemeral-storage': '11811160224' });
    assert.deepEqual(computeAllocatable(capacity, reservation), {
      cpu: '3500m',
      memory: '7068Mi',
      'ephemeral-storage': '95563022176',
      pods: '110',
    });
  });

  it('are never negative, and a threshold of 0 % or 100 % reserves nothing', () => {
    const capacity = computeCapacity(machine);
    assert.deepEqual(
      computeReservation(capacity, {
        ...nothing,
        evictionHard: { 'memory.available': '0%', 'nodefs.available': '100%' },
      }),
      {},
    );
    assert.equal(computeAllocatable(capacity, { memory: '9Gi' })['memory'], '0');
  });

  it('exclude huge pages from the memory', () => {
    const capacity = computeCapacity({ ...machine, hugePages: [{ sizeBytes: 2 ** 21, totalBytes: GI }] });
    assert.equal(computeAllocatable(capacity, {})['memory'], '7Gi');
  });

  it('are an error when more is reserved than there is', () => {
    const capacity = computeCapacity(machine);
    assert.equal(reservationProblem(capacity, { cpu: '4' }), undefined);
    assert.equal(
      reservationProblem(capacity, { cpu: '4001m' }),
      'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 4001m but capacity of 4. Expected capacity >= reservation.',
    );
  });
});

describe('the limits of all pods together', () => {
  it('exclude the reservations but not the eviction thresholds, and nothing at all without enforcement', () => {
    const capacity = computeCapacity(machine);
    const reserved = { kube: { cpu: '1' }, system: { memory: '1Gi' } };
    assert.deepEqual(computePodsLimits(capacity, reserved, true), {
      cpu: '3',
      memory: '7Gi',
      'ephemeral-storage': '100Gi',
      pods: '110',
    });
    assert.deepEqual(computePodsLimits(capacity, reserved, false), capacity);
  });
});

describe('CPUs reserved by number', () => {
  const reserved = { kube: { cpu: '200m', memory: '1Gi' }, system: { cpu: '1' } };

  it('replace the CPU reservations by amount', () => {
    assert.deepEqual(withReservedCpus({ ...reserved, systemCpus: [0, 1, 3] }, [0, 1, 2, 3]), {
      kube: { memory: '1Gi' },
      system: { cpu: '3' },
    });
    assert.deepEqual(withReservedCpus({ ...reserved, systemCpus: [] }, [0]), reserved);
  });

  it('must exist', () => {
    assert.equal(
      withReservedCpus({ ...reserved, systemCpus: [7, 6, 4] }, [0, 1, 2, 3]),
      'reserved-cpus: 4,6-7 is not a subset of online-cpus: 0-3',
    );
  });
});
