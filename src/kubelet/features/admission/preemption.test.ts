import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { givenPriority, standalonePriority } from '../../../api/pod-priority.ts';
import { needsText, selectVictims } from './preemption.ts';

interface Shape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly isGuaranteed?: boolean;
  readonly priority?: number;
}
function podOf(name: string, { cpu, memory, isGuaranteed = false, priority }: Shape = {}): Pod {
  const requests = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'spec.priority': priority,
    'spec.containers[0].resources': isGuaranteed ? { requests, limits: requests } : { requests },
  });
}
const critical = podOf('critical', { priority: 2_000_000_000 });
const lacking = (resource: string, amount: number) => ({ resource, requested: amount, used: 10, capacity: 10 });

function victims(
  others: readonly Pod[],
  needs: Readonly<Record<string, number>>,
  priorityOf = givenPriority,
  own = critical,
): string[] | string {
  const shortages = Object.entries(needs).map(([resource, amount]) => lacking(resource, amount));
  const chosen = selectVictims(own, others, { shortages, priorityOf });
  return 'missing' in chosen ? needsText(chosen.missing) : chosen.victims.map(({ metadata }) => metadata.name ?? '');
}

describe('pods that make room for a critical one', () => {
  it('the victims of preemption are as few as possible, those that free the most first', () => {
    const others = [podOf('small', { cpu: '100m' }), podOf('large', { cpu: '500m' }), podOf('mid', { cpu: '300m' })];
    assert.deepEqual(victims(others, { cpu: 400 }), ['large']);
    assert.deepEqual(victims(others, { cpu: 700 }), ['large', 'mid']);
    assert.deepEqual(victims(others, {}), []);
  });

  it('the victims of preemption are, of those that free enough, the one that asks for less memory, then for less CPU', () => {
    const [much, little] = [
      podOf('much', { cpu: '500m', memory: '2Gi' }),
      podOf('little', { cpu: '500m', memory: '1Gi' }),
    ];
    for (const others of [
      [much, little],
      [little, much],
    ])
      assert.deepEqual(victims(others, { cpu: 500 }), ['little']);
    const [more, less] = [podOf('more', { cpu: '900m' }), podOf('less', { cpu: '500m' })];
    for (const others of [
      [more, less],
      [less, more],
    ])
      assert.deepEqual(victims(others, { cpu: 500 }), ['less']);
    const twins = [podOf('first', { cpu: '500m' }), podOf('second', { cpu: '500m' })];
    assert.deepEqual(victims(twins, { cpu: 500 }), ['first']);
  });

  it('the victims of preemption weigh each need the same, whatever its unit', () => {
    const others = [podOf('cpu', { cpu: '1' }), podOf('both', { cpu: '600m', memory: '600Mi' })];
    assert.deepEqual(victims(others, { cpu: 1000, memory: 600 * 2 ** 20 }), ['both', 'cpu']);
  });

  it('the victims of preemption are best-effort pods rather than burstable ones rather than guaranteed ones', () => {
    const sure = podOf('sure', { cpu: '1', memory: '1Gi', isGuaranteed: true });
    const others = [sure, podOf('burst', { cpu: '1' }), podOf('best')];
    assert.deepEqual(victims(others, { pods: 1 }), ['best']);
    assert.deepEqual(victims(others, { pods: 2 }), ['best', 'burst']);
    assert.deepEqual(victims(others, { cpu: 1000 }), ['burst']);
    assert.deepEqual(victims(others, { cpu: 2000 }), ['burst', 'sure']);
    assert.deepEqual(victims(others, { cpu: 2000, pods: 2 }), ['burst', 'sure'], 'the others make room enough');
  });

  it('the victims of preemption are of the lower class even where a guaranteed pod would do and asks for less', () => {
    const others = [
      podOf('sure', { cpu: '500m', memory: '1Mi', isGuaranteed: true }),
      podOf('burst', { cpu: '900m', memory: '1Gi' }),
    ];
    assert.deepEqual(victims(others, { cpu: 500 }), ['burst']);
  });

  it('the victims of preemption are none when all of them together would not suffice; then the missing resources are returned', () => {
    assert.equal(victims([podOf('a', { cpu: '300m' })], { cpu: 500, pods: 1 }), '[(res: cpu, q: 200), ]');
    const critical2 = podOf('other', { cpu: '1', priority: 2_000_000_000 });
    assert.equal(victims([critical2], { cpu: 500 }), '[(res: cpu, q: 500), ]');
  });

  it('the victims of preemption are of lower priority; a pod without any priority is compared with none', () => {
    const high = podOf('high', { priority: 2_000_001_000 });
    assert.deepEqual(
      victims([podOf('lower', { cpu: '1', priority: 2_000_000_000 })], { cpu: 500 }, givenPriority, high),
      ['lower'],
    );
    const none = (): undefined => undefined;
    assert.equal(victims([critical], { pods: 1 }, none), '[(res: pods, q: 1), ]');
    const onlyOther = (pod: Pod): number | undefined => (pod === critical ? undefined : 1);
    assert.equal(victims([podOf('x', { priority: 2_000_000_000 })], { pods: 1 }, onlyOther), '[(res: pods, q: 1), ]');
  });
});

describe('priorities on a node without an API server', () => {
  it('are those of the built-in classes, unless the manifest names a number', () => {
    const of = (priorityClassName?: string, priority?: number): number | undefined =>
      standalonePriority(
        buildPod({ 'spec.priorityClassName': priorityClassName, 'spec.priority': priority }, { defaulted: false }),
      );
    assert.deepEqual(
      [of('system-node-critical'), of('system-cluster-critical'), of('other'), of(), of('system-node-critical', 7)],
      [2_000_001_000, 2_000_000_000, 0, 0, 7],
    );
  });
});
