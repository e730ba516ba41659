import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { givenPriority, standalonePriority } from '../../../api/pod-priority.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PriorityGrace } from './priority-groups.ts';
import { computePriorityGraces, fitGraces, groupByPriority, killGraceMs, totalGraceMs } from './priority-groups.ts';

const gates = (off: readonly string[] = []) => ({ enabled: (gate: string) => !off.includes(gate) });
const config = (graceMs: number, criticalPodsGraceMs: number, byPriority: readonly PriorityGrace[] = []) => ({
  graceMs,
  criticalPodsGraceMs,
  byPriority,
});
const podOf = (priority: number | undefined, name = 'p'): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': name, 'spec.priority': priority });

describe('the times of a graceful shutdown', () => {
  it('are those of ordinary and of critical pods when two periods are set, and none when they are 0', () => {
    assert.deepEqual(computePriorityGraces(config(30_000, 10_000), gates()), [
      { priority: 0, graceMs: 20_000 },
      { priority: 2_000_000_000, graceMs: 10_000 },
    ]);
    assert.deepEqual(computePriorityGraces(config(0, 0), gates()), []);
  });

  it('are the rows by priority in ascending order when those are set', () => {
    const rows = [
      { priority: 1000, graceMs: 2000 },
      { priority: -5, graceMs: 1000 },
    ];
    assert.deepEqual(computePriorityGraces(config(0, 0, rows), gates()), [rows[1], rows[0]]);
  });

  it('are none without the gate GracefulNodeShutdown, and ignore the rows without the gate of those', () => {
    const rows = [{ priority: 1000, graceMs: 2000 }];
    assert.deepEqual(computePriorityGraces(config(0, 0, rows), gates(['GracefulNodeShutdown'])), []);
    assert.deepEqual(computePriorityGraces(config(0, 0, rows), gates(['GracefulNodeShutdownBasedOnPodPriority'])), []);
  });

  it('shrink by the same share where there is less time, and then never exceed it', () => {
    const graces = computePriorityGraces(config(30_000, 10_000), gates());
    assert.deepEqual(
      fitGraces(graces, 3000).map(({ graceMs }) => graceMs),
      [2000, 1000],
    );
    assert.equal(fitGraces(graces, 30_000), graces);
    fc.assert(
      fc.property(fc.array(fc.nat(100_000), { maxLength: 8 }), fc.nat(200_000), (times, availableMs) => {
        const rows = times.map((graceMs, priority) => ({ priority, graceMs }));
        const fitted = totalGraceMs(fitGraces(rows, availableMs));
        assert.ok(fitted <= availableMs && fitted <= totalGraceMs(rows));
      }),
    );
  });
});

describe('the groups of pods', () => {
  it('take each pod into the highest row that is not above its priority, as a naive search does', () => {
    const rows = fc.uniqueArray(fc.integer({ min: -10, max: 10 }), { minLength: 1, maxLength: 6 });
    const priorities = fc.array(fc.option(fc.integer({ min: -15, max: 15 }), { nil: undefined }), { maxLength: 20 });
    fc.assert(
      fc.property(rows, priorities, (starts, given) => {
        const graces = starts.toSorted((a, b) => a - b).map((priority) => ({ priority, graceMs: 1000 }));
        const pods = given.map((priority, index) => podOf(priority, `p${index}`));
        const groups = groupByPriority(pods, graces, givenPriority);
        assert.equal(
          groups.reduce((sum, group) => sum + group.pods.length, 0),
          pods.length,
        );
        for (const [index, group] of groups.entries()) {
          const next = groups[index + 1]?.priority ?? Number.POSITIVE_INFINITY;
          for (const pod of group.pods) {
            const priority = pod.spec.priority ?? 0;
            assert.ok(priority < next, 'it does not belong to a higher row');
            assert.ok(priority >= group.priority || index === 0, 'nor to a lower one');
          }
        }
      }),
    );
  });

  it('pod groups of a node without an API server know the built-in priority classes', () => {
    const critical = buildPod({ 'metadata.uid': 'c', 'spec.priorityClassName': 'system-node-critical' });
    const graces = computePriorityGraces(config(30_000, 10_000), gates());
    const sizes = groupByPriority([critical, podOf(undefined)], graces, standalonePriority).map(
      ({ pods }) => pods.length,
    );
    assert.deepEqual(sizes, [1, 1]);
  });

  it('give a pod its own grace period, but at most that of the group', () => {
    const group = { priority: 0, graceMs: 20_000 };
    const graceOf = (seconds: number | undefined): number =>
      killGraceMs(buildPod({ 'spec.terminationGracePeriodSeconds': seconds }), group);
    assert.deepEqual([graceOf(5), graceOf(60), graceOf(0), graceOf(undefined)], [5000, 20_000, 0, 20_000]);
  });
});
