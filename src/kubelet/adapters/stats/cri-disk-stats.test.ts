import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilesystemUsage } from '../../../cri/generated/cri-v1.ts';
import { criDiskStats } from './cri-disk-stats.ts';

const usage = (mountpoint: string): FilesystemUsage => ({
  timestamp: 5_000_000n,
  fsId: { mountpoint },
  usedBytes: { value: 7n },
  inodesUsed: { value: 3n },
});
const stats = (images: readonly string[], containers: readonly string[]) =>
  criDiskStats(
    { listContainerStats: async () => ({ stats: [] }) },
    {
      imageFsInfo: async () => ({
        imageFilesystems: images.map(usage),
        containerFilesystems: containers.map(usage),
      }),
    },
  );

test('images and writable layers are where the runtime reports them', async () => {
  const { imageFs, containerFs } = stats(['/images'], ['/layers']);
  assert.deepEqual(await imageFs(), { atMs: 5, usedBytes: 7, inodesUsed: 3, mountpoint: '/images' });
  assert.equal((await containerFs?.())?.mountpoint, '/layers');
});

test('a runtime that reports neither has neither', async () => {
  const { imageFs, containerFs } = stats([''], []);
  assert.deepEqual([await imageFs(), await containerFs?.()], [undefined, undefined]);
});
