import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvictionWorld, GiB, MiB } from './testing/eviction-world.ts';

test('the report has every signal with its thresholds, what would be freed, and the rankings with numbers', async () => {
  const world = new EvictionWorld({
    evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
    evictionSoft: { 'memory.available': '4Gi' },
    evictionSoftGracePeriod: { 'memory.available': '2m' },
    evictionMinimumReclaim: { 'memory.available': '500Mi' },
  });
  world.add('a', { memoryBytes: GiB, diskBytes: 3 * GiB });
  world.add('b', { memoryBytes: 2 * GiB, diskBytes: GiB }, { 'spec.priority': 5 });
  world.add('critical', { memoryBytes: GiB }, { 'spec.priority': 2_000_000_000 });
  world.manager.start();
  await world.clock.advance(30_000);
  const report = await world.reporter.report();
  await world.manager.stop();
  assert.deepEqual(world.killed, []);
  const memory = report.signals.find(({ signal }) => signal === 'memory.available');
  assert.deepEqual(memory?.thresholds, [
    { kind: 'hard', amount: GiB, graceMs: 0, minimumReclaim: 500 * MiB, metForMs: undefined },
    { kind: 'soft', amount: 4 * GiB, graceMs: 120_000, minimumReclaim: 500 * MiB, metForMs: 30_000 },
  ]);
  assert.deepEqual([memory?.available, memory?.capacity, memory?.ageMs], [3 * GiB, 8 * GiB, 0]);
  assert.deepEqual(report.conditions, [{ type: 'MemoryPressure', forMs: 300_000 }]);
  assert.deepEqual(report.reclaimable, { containers: 2, images: 1, imageBytes: 5 * MiB });
  assert.deepEqual(
    report.rankings.map(({ signal, first, pods }) => [
      signal,
      first,
      pods.map(({ pod, usage }) => `${pod} ${usage ?? ''}`),
    ]),
    [
      ['memory.available', 'default/a', [`default/a ${GiB}`, `default/b ${2 * GiB}`, `default/critical ${GiB}`]],
      ['nodefs.available', 'default/a', [`default/a ${3 * GiB}`, `default/b ${GiB}`, 'default/critical 0']],
    ],
  );
});

test('a report names the pod that is leaving and does not rank it', async () => {
  const world = new EvictionWorld({ evictionHard: { 'memory.available': '2Gi' } });
  world.lingerMs = 10_000;
  world.add('hog', { memoryBytes: 6 * GiB });
  world.add('other', { memoryBytes: MiB });
  world.manager.start();
  await world.clock.advance(100);
  const { leaving, rankings } = await world.reporter.report();
  await world.manager.stop();
  assert.deepEqual([leaving, rankings[0]?.pods.map(({ pod }) => pod)], ['default/hog', ['default/other']]);
});
