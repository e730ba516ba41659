import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Image } from '../../ports/images.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { runPod } from '../../ports/testing/runtime-builders.ts';
import type { ImageGcPolicy, ImageRecord } from './gc-select.ts';
import { computeNeed, selectCandidates, selectOld, updateRecords } from './gc-select.ts';
import { ImageGc } from './image-gc.ts';
import { ImageLeases } from './image-leases.ts';
import { PullAccess } from './pull-access.ts';
import { PullRecordFiles } from './pull-records.ts';

const MINUTE = 60_000;
const policy: ImageGcPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 2 * MINUTE, maxAgeMs: 0 };

function world(options: { policy?: Partial<ImageGcPolicy>; images?: readonly string[]; capacityBytes?: number } = {}) {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: options.images ?? [] });
  const log = recordingLog();
  const events: string[] = [];
  const leases = new ImageLeases(clock);
  const access = new PullAccess({
    records: new PullRecordFiles({ files: new FakeHostFiles(clock), log, rootDir: '/k' }),
    runtime,
    policy: 'NeverVerify',
    allowlist: [],
    clock,
    log,
  });
  const disk = { capacityBytes: options.capacityBytes ?? 100_000_000, otherBytes: 0 };
  const removed: string[] = [];
  const gc = new ImageGc({
    onRemoved: (reason) => void removed.push(reason),
    ...{
      images: runtime,
      containers: runtime,
      leases,
      access,
      policy: { ...policy, ...options.policy },
      platform: { clock, random: seededRandom(1), log },
    },
    disk: {
      diskUsage: async () => ({
        capacityBytes: disk.capacityBytes,
        availableBytes:
          disk.capacityBytes -
          disk.otherBytes -
          (await runtime.listImages()).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      }),
    },
    events: { nodeEvent: (type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
  });
  gc.nameConsumersBy(async () => [{ what: 'container logs', bytes: 40_000_000 }]);
  const names = async (): Promise<string[]> =>
    (await runtime.listImages()).map(({ repoTags }) => repoTags[0] ?? '').sort();
  return { clock, runtime, log, events, leases, gc, disk, names, removed };
}

describe('image collection', () => {
  it('removes the least recently used until the low mark is reached, sparing what is used, pinned, young or a sandbox image', async () => {
    const { gc, runtime, clock, names, disk, removed } = world();
    for (const name of ['used:1', 'idle:1', 'idle:2', 'idle:3']) runtime.addImage(name, { sizeBytes: 4_000_000 });
    runtime.addImage('pinned:1', { sizeBytes: 4_000_000, pinned: true });
    runtime.addImage('registry.k8s.io/pause:3.9', { sizeBytes: 4_000_000 });
    await runPodNow(runtime, clock, 'used:1');
    await gc.collect();
    await clock.advance(3 * MINUTE);
    runtime.addImage('young:1', { sizeBytes: 4_000_000 });
    disk.otherBytes = 60_000_000;
    await gc.collect();
    // Of three images with the same idle time, two suffice. Their ids decide which.
    assert.deepEqual(
      (await names()).map((name) => name.replace(/^idle:.*/, 'idle')),
      ['idle', 'pinned:1', 'registry.k8s.io/pause:3.9', 'used:1', 'young:1'],
    );
    assert.deepEqual(removed, ['space', 'space']);
  });

  it('only checks while there is room', async () => {
    const { gc, runtime, clock } = world({ images: ['a:1'] });
    await gc.collect();
    await clock.advance(MINUTE);
    runtime.journal.callCounts.clear();
    await gc.collect();
    // The fake disk makes one of the two list calls.
    assert.deepEqual(Object.fromEntries(runtime.journal.callCounts), { listImages: 2, listContainers: 1 });
  });

  it('leaves an image alone that is leased to a pod and has no container yet', async () => {
    const { gc, leases, names, disk } = world({ policy: { minAgeMs: 0 }, images: ['docker.io/library/a:1', 'b:1'] });
    leases.hold('uid-1', 'main', 'a:1');
    disk.otherBytes = 90_000_000;
    await assert.rejects(gc.collect());
    assert.deepEqual(await names(), ['docker.io/library/a:1']);
  });

  it('removes what was unused for the maximum age, but only after running for that long', async () => {
    const { gc, runtime, clock, names } = world({ policy: { maxAgeMs: 60 * MINUTE }, images: ['old:1', 'used:1'] });
    await runPodNow(runtime, clock, 'used:1');
    await gc.collect();
    await clock.advance(59 * MINUTE);
    await gc.collect();
    assert.deepEqual(await names(), ['old:1', 'used:1']);
    await clock.advance(2 * MINUTE);
    await gc.collect();
    assert.deepEqual(await names(), ['used:1']);
  });

  it('reports once what uses the disk when removing images does not help', async () => {
    const { gc, clock, runtime, events, disk } = world({ policy: { minAgeMs: 0 }, images: ['used:1'] });
    await runPodNow(runtime, clock, 'used:1');
    disk.otherBytes = 95_000_000;
    gc.start();
    await clock.advance(16 * MINUTE);
    await gc.stop();
    const message =
      "Insufficient free disk space on the node's image filesystem (96% of 95.4 MiB used). Failed to free sufficient space by deleting unused images (freed 0 bytes). " +
      'In use on /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs: 38.1 MiB container logs; 976.6 KiB images and container layers (largest images in use: used:1 976.6 KiB); 52.5 MiB other data that the agent does not manage.';
    assert.deepEqual(events, [`Warning FreeDiskSpaceFailed ${message}`]);
  });

  it('shows what a pass would remove and why the others stay, and then removes exactly that', async () => {
    const { gc, runtime, clock, names, disk } = world();
    for (const name of ['used:1', 'idle:1', 'idle:2']) runtime.addImage(name, { sizeBytes: 4_000_000 });
    runtime.addImage('pinned:1', { sizeBytes: 4_000_000, pinned: true });
    runtime.addImage('registry.k8s.io/pause:3.9', { sizeBytes: 4_000_000 });
    await runPodNow(runtime, clock, 'used:1');
    await gc.collect();
    await clock.advance(3 * MINUTE);
    runtime.addImage('young:1', { sizeBytes: 4_000_000 });
    const verdicts = async (): Promise<string[]> =>
      (await gc.preview()).images.map(({ name, verdict, why }) => `${name} ${verdict}: ${why}`).sort();
    const kept = [
      'pinned:1 kept: pinned',
      'registry.k8s.io/pause:3.9 kept: image of sandboxes',
      'used:1 kept: in use',
      'young:1 unused: younger than imageMinimumGCAge',
    ];
    const idle = (words: string): string[] => [`idle:1 ${words}`, `idle:2 ${words}`];
    assert.deepEqual(await verdicts(), [...idle('unused: no space is needed'), ...kept]);
    disk.otherBytes = 63_000_000;
    assert.deepEqual(await verdicts(), [...idle('remove: the disk is above imageGCHighThresholdPercent'), ...kept]);
    assert.equal((await names()).length, 6, 'nothing was removed');
    await gc.collect();
    assert.deepEqual(await names(), ['pinned:1', 'registry.k8s.io/pause:3.9', 'used:1', 'young:1']);
  });

  it('goes on after an image that cannot be removed, and reports it', async () => {
    const { gc, runtime, clock, disk, names } = world({ policy: { minAgeMs: 0 }, images: ['a:1', 'b:1'] });
    runtime.fail('removeImage', { kind: 'Internal', message: 'busy', times: 1 });
    disk.otherBytes = 95_000_000;
    const rejected = assert.rejects(
      gc.collect(),
      /^KubeletError: wanted to free \d+ bytes, but freed \d+ bytes space with errors in image deletion: .:1: busy$/,
    );
    await clock.advance(10);
    await rejected;
    assert.equal((await names()).length, 1);
  });

  it('names the required age of images, and all that could not be removed', async () => {
    const { gc, runtime, clock } = world({ policy: { maxAgeMs: 60 * MINUTE }, images: ['a:1', 'b:1'] });
    await gc.collect();
    await clock.advance(61 * MINUTE);
    runtime.fail('removeImage', { kind: 'Internal', message: 'busy', times: 2 });
    const rejected = assert.rejects(
      gc.collect(),
      /^KubeletError: wanted to free images older than 1h0m0s, encountered errors in image deletion: \[(a|b):1: busy, (a|b):1: busy\]$/,
    );
    await clock.advance(10);
    await rejected;
  });

  it('removes everything unused for eviction, however young', async () => {
    const { gc, leases, names } = world({ images: ['a:1', 'b:1', 'c:1'] });
    leases.hold('uid-1', 'main', 'c:1');
    assert.deepEqual(await gc.countUnused(), { images: 2, imageBytes: 2_000_000 });
    assert.deepEqual(await names(), ['a:1', 'b:1', 'c:1']);
    assert.equal(await gc.deleteUnused(), 2_000_000);
    assert.deepEqual(await names(), ['c:1']);
  });

  it('never selects protected images, and always the least recently used first', () => {
    const image = (id: number, pinned: boolean): Image => ({
      id: `sha256:${id}`,
      repoTags: [`r.local/i:${id}`],
      repoDigests: [],
      sizeBytes: id,
      username: '',
      pinned,
    });
    const records = fc.array(
      fc.record({
        pinned: fc.boolean(),
        used: fc.option(fc.nat(100), { nil: undefined }),
        seen: fc.nat(100),
        kept: fc.constantFrom('', 'id', 'name'),
      }),
    );
    fc.assert(
      fc.property(records, (facts) => {
        const all = new Map(
          facts.map(
            ({ pinned, used, seen }, index) =>
              [
                `sha256:${index}`,
                { image: image(index, pinned), firstSeenMs: seen, lastUsedMs: used } satisfies ImageRecord,
              ] as const,
          ),
        );
        const inUse = new Set(
          facts.flatMap(({ kept }, index) =>
            kept === '' ? [] : [kept === 'id' ? `sha256:${index}` : `r.local/i:${index}`],
          ),
        );
        const selected = selectCandidates(all, { inUse, leased: new Set(), sandboxImages: [] });
        assert.deepEqual(
          new Set(selected.map((record) => record.image.id)),
          new Set(facts.flatMap(({ pinned, kept }, index) => (pinned || kept !== '' ? [] : [`sha256:${index}`]))),
        );
        const keys = selected.map(({ lastUsedMs = -1, firstSeenMs }) => [lastUsedMs, firstSeenMs] as const);
        for (const [index, [used, seen]] of keys.entries()) {
          const next = keys[index + 1];
          assert.ok(next === undefined || used < next[0] || (used === next[0] && seen <= next[1]));
        }
      }),
    );
  });

  it('computes need and age at their edges', () => {
    assert.deepEqual(computeNeed({ capacityBytes: 100, availableBytes: 16 }, policy), {
      usedPercent: 84,
      bytesToFree: 0,
    });
    assert.deepEqual(computeNeed({ capacityBytes: 100, availableBytes: 15 }, policy), {
      usedPercent: 85,
      bytesToFree: 5,
    });
    assert.deepEqual(computeNeed({ capacityBytes: 100, availableBytes: 200 }, policy), {
      usedPercent: 0,
      bytesToFree: 0,
    });
    const records = updateRecords(
      new Map(),
      [{ id: 'a', repoTags: [], repoDigests: [], sizeBytes: 1, username: '', pinned: false }],
      new Set(['a']),
      10,
    );
    const old = selectOld([...records.values()], { ...policy, maxAgeMs: 5 }, 16, 0);
    assert.deepEqual(
      [records.get('a')?.lastUsedMs, old.length, selectOld(old, { ...policy, maxAgeMs: 5 }, 15, 0).length],
      [10, 1, 0],
    );
  });
});

async function runPodNow(runtime: FakeRuntime, clock: FakeClock, image: string): Promise<void> {
  const running = runPod(runtime, { uid: 'pod-1' }, [{ name: 'main', image }]);
  await clock.advance(1000);
  await running;
}
