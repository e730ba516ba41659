import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Image } from '../../ports/images.ts';
import type { ImageRecord, KeptImages } from './gc-select.ts';
import { computeNeed, selectCandidates, selectOld, selectRipe, updateRecords } from './gc-select.ts';

const policy = { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 };
const nothingKept: KeptImages = { inUse: new Set(), leased: new Set(), sandboxImages: [] };

function anImage(id: string, fields: Partial<Image> = {}): Image {
  return { id, repoTags: [], repoDigests: [], sizeBytes: 1, username: '', pinned: false, ...fields };
}

function recordsOf(...records: (Partial<ImageRecord> & { image: Image })[]): Map<string, ImageRecord> {
  return new Map(records.map((record) => [record.image.id, { firstSeenMs: 0, lastUsedMs: undefined, ...record }]));
}

const candidates = (records: ReadonlyMap<string, ImageRecord>, kept: Partial<KeptImages> = {}): string[] =>
  selectCandidates(records, { ...nothingKept, ...kept }).map(({ image }) => image.id);

describe('images that may be removed', () => {
  it('come in order of last use, then of first sight, then of id; what was never used comes first', () => {
    const records = recordsOf(
      { image: anImage('late'), lastUsedMs: 20, firstSeenMs: 1 },
      { image: anImage('early'), lastUsedMs: 10, firstSeenMs: 2 },
      { image: anImage('seen-late'), firstSeenMs: 9 },
      { image: anImage('seen-b'), firstSeenMs: 5 },
      { image: anImage('seen-a'), firstSeenMs: 5 },
    );
    const order = ['seen-a', 'seen-b', 'seen-late', 'early', 'late'];
    assert.deepEqual(candidates(records), order);
    assert.deepEqual(candidates(new Map([...records].reverse())), order, 'whatever order the runtime lists them in');
  });

  it('are not those whose names the operator pinned', () => {
    const records = recordsOf(
      { image: anImage('built-here', { repoTags: ['localhost/app:1'] }) },
      { image: anImage('pulled', { repoTags: ['docker.io/localhost/app:1'] }) },
      { image: anImage('untagged') },
    );
    assert.deepEqual(candidates(records, { pinnedPrefixes: ['localhost/'] }), ['pulled', 'untagged']);
  });

  it('are not those that are pinned, in use, under lease, or of sandboxes, by any of their names', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const records = recordsOf(
      { image: anImage('pinned', { pinned: true }) },
      { image: anImage('by-tag', { repoTags: ['docker.io/library/busybox:1'] }) },
      { image: anImage('by-digest', { repoDigests: [`docker.io/library/app@${digest}`] }) },
      { image: anImage('by-id') },
      { image: anImage('free', { repoTags: ['docker.io/library/free:1'] }) },
    );
    const kept = { inUse: new Set(['busybox:1', '']), leased: new Set([`app@${digest}`]), sandboxImages: ['by-id'] };
    assert.deepEqual(candidates(records, kept), ['free']);
    assert.equal(candidates(records).length, 4);
  });

  it('are not those called pause, in any registry and for any architecture; what only contains the word is', () => {
    const named = (...repoTags: string[]): string[] => candidates(recordsOf({ image: anImage('x', { repoTags }) }));
    for (const name of ['pause:3.9', 'registry.k8s.io/pause:3.9', 'r.local/pause-amd64:3', 'r.local/pause-x86_64:3'])
      assert.deepEqual(named(name), [], name);
    for (const name of ['r.local/unpause:1', 'r.local/pause-menu-1.2:1', 'r.local/pause/menu:1'])
      assert.deepEqual(named(name), ['x'], name);
    assert.deepEqual(named('r.local/other:1', 'r.local/pause:1'), [], 'one such name is enough');
  });

  it('are kept by a name that is in no registry notation, too', () => {
    assert.deepEqual(candidates(recordsOf({ image: anImage('Not A Name') }), { leased: new Set(['Not A Name']) }), []);
  });
});

describe('the records of images', () => {
  it('have the times of first detection and last use; missing images are dropped', () => {
    const [a, b] = [anImage('a'), anImage('b')];
    const first = updateRecords(new Map(), [a, b], new Set(['a']), 10);
    const second = updateRecords(first, [a], new Set(), 20);
    assert.deepEqual([...second.values()], [{ image: a, firstSeenMs: 10, lastUsedMs: 10 }]);
    assert.deepEqual(first.get('b'), { image: b, firstSeenMs: 10, lastUsedMs: undefined });
    assert.equal(updateRecords(second, [a], new Set(['a']), 30).get('a')?.lastUsedMs, 30);
  });
});

describe('age', () => {
  const ageing = { ...policy, maxAgeMs: 1000 };
  const list = [...recordsOf({ image: anImage('never') }, { image: anImage('used'), lastUsedMs: 5000 }).values()];
  const old = (nowMs: number, startedMs = 0, rules = ageing): string[] =>
    selectOld(list, rules, nowMs, startedMs).map(({ image }) => image.id);

  it('selects what was unused for longer than the limit, and all that was never used', () => {
    assert.deepEqual(old(6000), ['never']);
    assert.deepEqual(old(6001), ['never', 'used']);
  });

  it('selects nothing without a limit, or before the agent has run for as long as the limit', () => {
    assert.deepEqual(old(60_000, 0, policy), []);
    assert.deepEqual(old(10_000, 9000), []);
    assert.deepEqual(old(10_001, 9000), ['never', 'used']);
  });

  it('protects young images from being removed for space', () => {
    const young = [...recordsOf({ image: anImage('a'), firstSeenMs: 1000 }).values()];
    assert.deepEqual(selectRipe(young, policy, 120_999), []);
    assert.deepEqual(selectRipe(young, policy, 121_000), young);
  });
});

describe('how much to free', () => {
  it('is what leads to the low mark, once the high mark is reached', () => {
    const need = (availableBytes: number): unknown => computeNeed({ capacityBytes: 1000, availableBytes }, policy);
    assert.deepEqual(need(151), { usedPercent: 85, bytesToFree: 49 });
    assert.deepEqual(need(160), { usedPercent: 84, bytesToFree: 0 });
    assert.deepEqual(need(0), { usedPercent: 100, bytesToFree: 200 });
    assert.deepEqual(need(2000), { usedPercent: 0, bytesToFree: 0 }, 'more free than there is counts as empty');
  });

  it('is never negative, also when the marks are swapped', () => {
    const odd = { ...policy, highPercent: 50, lowPercent: 90 };
    assert.equal(computeNeed({ capacityBytes: 1000, availableBytes: 400 }, odd).bytesToFree, 0);
  });
});
