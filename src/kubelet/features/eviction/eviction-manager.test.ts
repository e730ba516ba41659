import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { isPressureConditions } from './node-pressure.ts';
import { EvictionWorld, GiB, MiB } from './testing/eviction-world.ts';

const request = (memory: string): Record<string, unknown> => ({
  'spec.containers': [{ name: 'main', image: 'i:1', resources: { requests: { memory } } }],
});
const hard = (thresholds: Record<string, string>, more: Record<string, unknown> = {}) =>
  new EvictionWorld({ evictionHard: thresholds, ...more });

describe('a hard threshold', () => {
  test('evicts the pod that is furthest above its request, with one second of grace, and says why', async () => {
    const world = hard({ 'memory.available': '1Gi' });
    world.add('within', { memoryBytes: 3 * GiB }, request('4Gi'));
    world.add('over', { memoryBytes: 2 * GiB }, request('1Gi'));
    world.add('more', { memoryBytes: 2 * GiB - 10 * MiB }, request('100Mi'));
    world.manager.start();
    await world.clock.advance(0);
    assert.deepEqual(world.killed, [{ name: 'more', graceMs: 1000, atMs: 0 }]);
    const message =
      'The node was low on resource: memory. Threshold quantity: 1Gi, available: 10Mi. Container main was using 2038Mi, request is 100Mi, has larger consumption of memory. ';
    assert.deepEqual(world.said, [
      'node EvictionThresholdMet: Attempting to reclaim memory',
      `more Evicted: ${message}`,
    ]);
    assert.deepEqual(world.annotations, [
      { offending_containers: 'main', offending_containers_usage: '2038Mi', starved_resource: 'memory' },
    ]);
    assert.deepEqual(world.record.get(podUid('more')), {
      reason: 'Evicted',
      message,
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
    });
    assert.deepEqual([world.counted, world.conditions], [['memory.available'], ['MemoryPressure']]);
    await world.manager.stop();
  });

  test('evicts one pod at a time, the next only when that one is gone and the shortage lasts', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.lingerMs = 4000;
    for (const name of ['a', 'b', 'c']) world.add(name, { memoryBytes: 2 * GiB });
    world.manager.start();
    await world.clock.advance(4900);
    assert.equal(world.killed.length, 1);
    await world.clock.advance(200);
    // 3 GiB are free, which is enough.
    assert.equal(world.killed.length, 1);
    world.change('b', { memoryBytes: 5 * GiB });
    await world.clock.advance(10_000);
    assert.deepEqual(
      world.killed.map(({ name }) => name),
      ['a', 'b'],
    );
    await world.manager.stop();
  });

  test('gives up waiting for a pod that does not end after 30 s and takes the next', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.lingerMs = 3_600_000;
    world.add('stuck', { memoryBytes: 4 * GiB });
    world.add('next', { memoryBytes: 2 * GiB });
    world.manager.start();
    await world.clock.advance(29_000);
    assert.deepEqual(
      world.killed.map(({ name }) => name),
      ['stuck'],
    );
    await world.clock.advance(3000);
    assert.deepEqual(
      world.killed.map(({ name }) => name),
      ['stuck', 'next'],
    );
    await world.manager.stop();
  });

  test('spares static, mirror and critical pods, and evicts nothing that would free nothing', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.add('static', { memoryBytes: GiB }, { 'metadata.annotations': { 'kubernetes.io/config.source': 'file' } });
    world.add('mirror', { memoryBytes: GiB }, { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } });
    world.add('critical', { memoryBytes: 4 * GiB }, { 'spec.priority': 2_000_000_000 });
    world.add('empty', { memoryBytes: 0 });
    world.manager.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.killed, []);
    assert.deepEqual(world.pressure.flags(), { memory: true, disk: false, pid: false });
    await world.manager.stop();
  });

  test('also holds for the memory that all pods may use together', async () => {
    const world = hard({ 'memory.available': '500Mi' });
    world.podsLimit = 2 * GiB;
    world.add('hog', { memoryBytes: 1.8 * GiB });
    world.manager.start();
    await world.clock.advance(0);
    assert.deepEqual([world.killed.length, world.counted], [1, ['allocatableMemory.available']]);
    await world.manager.stop();
  });

  test('waits until all pods of the node are known', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.ready = false;
    world.add('hog', { memoryBytes: 6 * GiB });
    world.manager.start();
    await world.clock.advance(5000);
    assert.deepEqual([world.killed.length, world.conditions], [0, ['MemoryPressure']]);
    world.ready = true;
    await world.clock.advance(2000);
    assert.equal(world.killed.length, 1);
    await world.manager.stop();
  });

  test('for processes evicts by priority and their number', async () => {
    const world = hard({ 'pid.available': '10%' });
    world.add('few', { tasks: 10 });
    world.add('many', { tasks: 20_000 }, { 'spec.priority': 100 });
    world.add('some', { tasks: 5000 });
    world.tasks.current = 28_000;
    world.manager.start();
    await world.clock.advance(0);
    assert.deepEqual([world.killed.map(({ name }) => name), world.conditions], [['some'], ['PIDPressure']]);
    await world.manager.stop();
  });
});

describe('a soft threshold', () => {
  const soft = (more: Record<string, unknown> = {}) =>
    new EvictionWorld({
      evictionHard: { 'memory.available': '100Mi' },
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '30s' },
      evictionMaxPodGracePeriod: 20,
      ...more,
    });

  test('reports the condition at once and evicts when its grace period is over, with the longer grace', async () => {
    const world = soft();
    world.add('hog', { memoryBytes: 6.5 * GiB }, { 'spec.terminationGracePeriodSeconds': 60 });
    world.manager.start();
    await world.clock.advance(29_900);
    assert.deepEqual([world.killed, world.conditions], [[], ['MemoryPressure']]);
    await world.clock.advance(200);
    assert.deepEqual(
      world.killed.map(({ graceMs }) => graceMs),
      [20_000],
    );
    await world.manager.stop();
  });

  test('gives a pod its own grace period where that is shorter, and the longest one where it has none', async () => {
    for (const [own, graceMs] of [
      [5, 5000],
      [undefined, 20_000],
    ] as const) {
      const world = soft();
      world.add('hog', { memoryBytes: 6.5 * GiB }, { 'spec.terminationGracePeriodSeconds': own });
      world.manager.start();
      await world.clock.advance(31_000);
      assert.equal(world.killed[0]?.graceMs, graceMs);
      await world.manager.stop();
    }
  });

  test('starts its grace period again when the shortage was over in between', async () => {
    const world = soft();
    world.add('hog', { memoryBytes: 6.5 * GiB });
    world.manager.start();
    await world.clock.advance(20_000);
    world.change('hog', { memoryBytes: GiB });
    await world.clock.advance(10_000);
    world.change('hog', { memoryBytes: 6.5 * GiB });
    await world.clock.advance(29_000);
    assert.deepEqual(world.killed, []);
    await world.manager.stop();
  });
});

describe('after a shortage', () => {
  test('the condition stays for evictionPressureTransitionPeriod and does not flap meanwhile', async () => {
    const world = hard({ 'memory.available': '1Gi' }, { evictionPressureTransitionPeriod: '1m' });
    world.add('wave', { memoryBytes: 6.5 * GiB }, { 'spec.priority': 2_000_000_000 });
    world.manager.start();
    for (let round = 0; round < 5; round++) {
      await world.clock.advance(20_000);
      world.change('wave', { memoryBytes: (round % 2 === 0 ? 1 : 6.5) * GiB });
    }
    assert.deepEqual(world.conditions, ['MemoryPressure']);
    await world.clock.advance(80_000);
    assert.deepEqual(world.conditions, ['MemoryPressure', 'none']);
    await world.manager.stop();
  });

  test('pods are evicted until evictionMinimumReclaim is free as well', async () => {
    const world = hard({ 'memory.available': '1Gi' }, { evictionMinimumReclaim: { 'memory.available': '2Gi' } });
    for (const name of ['a', 'b', 'c']) world.add(name, { memoryBytes: 2.1 * GiB });
    world.manager.start();
    await world.clock.advance(20_000);
    // The first eviction frees 2.8 GiB, which is less than 1 + 2.
    assert.deepEqual(
      world.killed.map(({ name }) => name),
      ['a', 'b'],
    );
    await world.manager.stop();
  });
});

describe('a shortage of disk', () => {
  const full = { 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' };

  test('is resolved by removing ended containers and unused images if that suffices', async () => {
    const world = hard(full);
    world.root.otherBytes = 95 * GiB;
    world.unused = { containers: GiB, images: 10 * GiB };
    world.add('innocent', { diskBytes: GiB });
    world.manager.start();
    await world.clock.advance(30_000);
    assert.deepEqual([world.reclaimed, world.killed], [['containers', 'images'], []]);
    assert.deepEqual(world.conditions, ['DiskPressure']);
    await world.manager.stop();
  });

  test('otherwise evicts the pod with the most data, and no second one in the same round', async () => {
    const world = hard(full);
    world.root.otherBytes = 50 * GiB;
    world.add('writer', { diskBytes: 30 * GiB });
    world.add('small', { diskBytes: 12 * GiB });
    world.manager.start();
    await world.clock.advance(20_000);
    assert.deepEqual([world.killed.map(({ name }) => name), world.counted], [['writer'], ['nodefs.available']]);
    await world.manager.stop();
  });

  test('is over without an eviction only when the minimum reclaim is free too', async () => {
    for (const [minimum, evictions] of [
      ['1Gi', 0],
      ['20Gi', 1],
    ] as const) {
      const world = hard({ 'nodefs.available': '10Gi' }, { evictionMinimumReclaim: { 'nodefs.available': minimum } });
      world.root.otherBytes = 95 * GiB;
      world.unused = { containers: 0, images: 10 * GiB };
      world.add('writer', { diskBytes: GiB });
      world.manager.start();
      await world.clock.advance(3500);
      assert.deepEqual([world.reclaimed.slice(0, 2), world.killed.length], [['containers', 'images'], evictions]);
      await world.manager.stop();
    }
  });

  test('evicts no pod while the runtime frees the space of removed containers, and one if that does not suffice', async () => {
    for (const [unused, evictions] of [
      [10 * GiB, []],
      [GiB, [{ name: 'writer', atMs: 5500 }]],
    ] as const) {
      const world = hard(full);
      world.root.otherBytes = 95 * GiB;
      world.unused = { containers: unused, images: 0 };
      world.freedAfterMs = 2500;
      world.add('writer', { diskBytes: GiB });
      const startMs = world.clock.monotonicMs();
      world.manager.start();
      await world.clock.advance(20_000);
      const killed = world.killed.map(({ name, atMs }) => ({ name, atMs: atMs - startMs }));
      assert.deepEqual(killed, evictions);
      await world.manager.stop();
    }
  });

  test('evicts a pod at once if it takes space while the runtime frees other', async () => {
    const world = hard(full);
    world.root.otherBytes = 95 * GiB;
    world.unused = { containers: 10 * GiB, images: 0 };
    world.freedAfterMs = 5000;
    world.add('writer', { diskBytes: GiB });
    const startMs = world.clock.monotonicMs();
    world.manager.start();
    await world.clock.advance(100);
    world.change('writer', { diskBytes: 1.2 * GiB });
    await world.clock.advance(5000);
    assert.deepEqual(
      world.killed.map(({ name, atMs }) => [name, atMs - startMs]),
      [['writer', 250]],
    );
    await world.manager.stop();
  });

  test('that is being resolved does not delay the stop of the agent', async () => {
    const world = hard(full);
    world.root.otherBytes = 95 * GiB;
    world.unused = { containers: GiB, images: 0 };
    world.add('writer', { diskBytes: GiB });
    world.manager.start();
    await world.clock.advance(1000);
    await world.manager.stop();
    assert.deepEqual([world.reclaimed, world.killed], [['containers', 'images'], []]);
  });

  test('does not delay an eviction for memory while the node frees space', async () => {
    const world = hard({ ...full, 'memory.available': '1Gi' });
    world.root.otherBytes = 95 * GiB;
    let finish: () => void = () => undefined;
    world.reclaiming = new Promise((resolve) => (finish = resolve));
    world.add('writer', { diskBytes: GiB });
    world.manager.start();
    await world.clock.advance(1000);
    assert.deepEqual([world.reclaimed, world.killed], [['containers'], []]);
    world.add('hog', { memoryBytes: 6.5 * GiB });
    await world.clock.advance(11_000);
    assert.deepEqual([world.killed[0]?.name, world.counted], ['hog', ['memory.available']]);
    finish();
    await world.manager.stop();
  });

  test('leads to an eviction if the node cannot remove anything', async () => {
    const world = hard(full);
    world.root.otherBytes = 95 * GiB;
    world.reclaiming = Promise.reject(new Error('the runtime is gone'));
    world.add('writer', { diskBytes: GiB });
    world.manager.start();
    await world.clock.advance(2000);
    assert.deepEqual([world.reclaimed.slice(0, 2), world.killed.length], [['containers', 'images'], 1]);
    await world.manager.stop();
  });

  test('of inodes is measured by the number of files', async () => {
    const world = hard(full);
    world.root.inodes = 1000;
    world.add('files', { inodes: 970 });
    world.add('big', { diskBytes: GiB, inodes: 3 });
    world.manager.start();
    await world.clock.advance(2000);
    assert.deepEqual([world.killed.map(({ name }) => name), world.counted], [['files'], ['nodefs.inodesFree']]);
    assert.match(world.said.at(-1) ?? '', /low on resource: inodes. Threshold quantity: 50, available: 27. $/);
    await world.manager.stop();
  });

  test('removes no image for the root directory if images have a separate file system', async () => {
    const world = hard({ ...full, 'imagefs.available': '15%' });
    world.images = { capacityBytes: 10 * GiB, usedBytes: GiB };
    world.root.otherBytes = 95 * GiB;
    world.add('writer', { diskBytes: GiB });
    world.manager.start();
    await world.clock.advance(5000);
    assert.deepEqual([world.reclaimed, world.killed.length], [[], 1]);
    await world.manager.stop();
  });

  test('on a disk that does not respond delays no eviction for memory', async () => {
    const world = hard({ ...full, 'memory.available': '1Gi' });
    world.hung = new Promise(() => undefined);
    world.add('hog', { memoryBytes: 6.5 * GiB });
    world.manager.start();
    await world.clock.advance(0);
    assert.deepEqual(
      world.killed.map(({ name }) => name),
      ['hog'],
    );
    // The manager is not stopped, because the disk never responds.
  });
});

describe('limits of ephemeral storage', () => {
  const limited = (limit: string): Record<string, unknown> => ({
    'spec.containers': [{ name: 'main', image: 'i:1', resources: { limits: { 'ephemeral-storage': limit } } }],
  });

  test('evict each pod above its own, whatever the node has left', async () => {
    const world = hard({});
    world.add('within', { diskBytes: 50 * MiB }, limited('100Mi'));
    world.add('above', { diskBytes: 101 * MiB }, limited('100Mi'));
    world.add('dir', { diskBytes: 11 * MiB }, { 'spec.volumes': [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }] });
    world.manager.start();
    await world.clock.advance(1000);
    assert.deepEqual(world.said, [
      'above Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 100Mi. ',
      'dir Evicted: Usage of EmptyDir volume "cache" exceeds the limit "10Mi". ',
    ]);
    assert.deepEqual(world.counted, ['ephemeralpodfs.limit', 'emptydirfs.limit']);
    assert.equal(world.record.get(podUid('dir'))?.condition, undefined);
    await world.manager.stop();
  });

  test('evict no critical pod, and record the generation of the pod that was evicted', async () => {
    const world = hard({});
    world.add('critical', { diskBytes: 101 * MiB }, { ...limited('100Mi'), 'spec.priority': 2_000_000_000 });
    world.add('above', { diskBytes: 101 * MiB }, { ...limited('100Mi'), 'metadata.generation': 7 });
    world.manager.start();
    await world.clock.advance(30_000);
    assert.deepEqual([world.killed.map(({ name }) => name), world.names], [['above'], ['critical']]);
    await world.manager.stop();
  });

  test('are checked every ten seconds', async () => {
    const world = hard({});
    world.add('writer', { diskBytes: 50 * MiB }, limited('100Mi'));
    world.manager.start();
    await world.clock.advance(1000);
    world.change('writer', { diskBytes: 101 * MiB });
    await world.clock.advance(8900);
    assert.deepEqual(world.killed, []);
    await world.clock.advance(1100);
    assert.deepEqual(
      world.killed.map(({ name, graceMs }) => [name, graceMs]),
      [['writer', 1000]],
    );
    await world.manager.stop();
  });

  test('are not enforced with localStorageCapacityIsolation off', async () => {
    const world = hard({}, { localStorageCapacityIsolation: false });
    world.add('above', { diskBytes: 101 * MiB }, limited('100Mi'));
    world.manager.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.killed, []);
    await world.manager.stop();
  });
});

describe('readings', () => {
  test('are rare while the thresholds are far away', async () => {
    const world = hard({ 'memory.available': '100Mi' }, { localStorageCapacityIsolation: false });
    world.memoryCapacity = 8 * GiB;
    world.systemBytes = 0;
    world.manager.start();
    await world.clock.advance(60_000);
    assert.ok(world.looks <= 9, `${world.looks} reads in a minute`);
    await world.manager.stop();
  });

  test('detect a consumer of 200 MB/s within 100 ms of the crossing, from any starting point', async () => {
    for (const startGiB of [1, 3, 6, 6.8]) {
      const world = hard({ 'memory.available': '100Mi' });
      world.add('hog', { memoryBytes: startGiB * GiB });
      world.manager.start();
      // The consumer starts in the middle of a pause.
      await world.clock.advance(1234);
      const beganMs = world.clock.monotonicMs();
      const crossingMs = beganMs + (world.freeMemory - 100 * MiB) / 200_000;
      while (world.killed.length === 0 && world.clock.monotonicMs() < crossingMs + 5000) {
        world.change('hog', { memoryBytes: startGiB * GiB + (world.clock.monotonicMs() - beganMs) * 200_000 });
        await world.clock.advance(10);
      }
      const lateMs = (world.killed[0]?.atMs ?? Infinity) - crossingMs;
      assert.ok(lateMs >= -10 && lateMs <= 120, `from ${startGiB} GiB: ${lateMs} ms after the crossing`);
      await world.manager.stop();
    }
  });
});

describe('a restart of the agent', () => {
  test('does not end a condition before its transition period is over', async () => {
    const world = hard({ 'memory.available': '1Gi' }, { evictionPressureTransitionPeriod: '1m' });
    world.pressure.set(['MemoryPressure']);
    world.manager.start();
    await world.clock.advance(59_000);
    assert.deepEqual(world.pressure.conditions, ['MemoryPressure']);
    await world.clock.advance(2000);
    assert.deepEqual(world.pressure.conditions, []);
    await world.manager.stop();
  });

  test('takes only known conditions from the file of the earlier run', () => {
    assert.ok(isPressureConditions(['DiskPressure']));
    for (const value of [{}, 'DiskPressure', ['Ready'], [1]]) assert.equal(isPressureConditions(value), false);
  });
});

describe('a notification of the kernel', () => {
  test('leads to a reading at once with kernelMemcgNotification, however far the threshold was', async () => {
    const world = hard({ 'memory.available': '100Mi' }, { kernelMemcgNotification: true });
    world.systemBytes = 0;
    world.add('hog', { memoryBytes: MiB });
    world.manager.start();
    await world.clock.advance(1000);
    world.change('hog', { memoryBytes: 7.95 * GiB });
    world.onMemoryEvent?.();
    await world.clock.advance(0);
    assert.equal(world.killed.length, 1);
    await world.manager.stop();
    assert.equal(world.onMemoryEvent, undefined);
  });

  test('is not requested without kernelMemcgNotification', async () => {
    const world = hard({ 'memory.available': '100Mi' });
    world.manager.start();
    assert.equal(world.onMemoryEvent, undefined);
    await world.manager.stop();
  });
});

describe('an eviction', () => {
  test('counts as running until its pod is gone, and reports the age of its measurements', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.lingerMs = 4000;
    assert.equal(world.manager.leaving(), undefined);
    world.add('hog', { memoryBytes: 7 * GiB });
    world.manager.start();
    await world.clock.advance(3000);
    assert.deepEqual([world.manager.leaving(), world.ages], [podUid('hog'), [0]]);
    await world.clock.advance(4000);
    assert.equal(world.manager.leaving(), undefined);
    await world.manager.stop();
  });

  test('that finds no pod is reported every ten seconds, not at each reading', async () => {
    const world = hard({ 'memory.available': '2Gi' });
    world.add('critical', { memoryBytes: 7 * GiB }, { 'spec.priority': 2_000_000_000 });
    world.manager.start();
    await world.clock.advance(29_000);
    const reports = world.log.lines.filter(({ message }) => message === 'no pod can be evicted to end the shortage');
    assert.equal(reports.length, 3);
    await world.manager.stop();
  });

  test('that first removes unused things is awaited when the agent stops', async () => {
    const world = hard({ 'nodefs.available': '4Gi' });
    let release = (): void => undefined;
    world.reclaiming = new Promise((resolve) => (release = resolve));
    world.root.otherBytes = world.root.capacityBytes - GiB;
    world.manager.start();
    await world.clock.advance(1000);
    assert.deepEqual(world.reclaimed, ['containers']);
    let hasStopped = false;
    const stopping = world.manager.stop().then(() => (hasStopped = true));
    await world.clock.advance(1000);
    assert.equal(hasStopped, false);
    release();
    await stopping;
  });
});
