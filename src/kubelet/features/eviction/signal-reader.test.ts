import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { SignalReader } from './signal-reader.ts';
import type { SignalSources } from './signal-reader.ts';

const mountpoints = ['/var/lib/images', '/var/lib/layers'] as const;
const sources: SignalSources = {
  groups: { memory: () => undefined, limits: () => undefined, tasks: () => ({ current: 1, limit: 2 }) },
  fs: {
    fileSystem: () => Promise.reject(new Error('not read here')),
    device: (path) => Promise.resolve(path),
  },
  runtime: {
    imageFs: () => Promise.resolve({ mountpoint: mountpoints[0] }),
    containerFs: () => Promise.resolve({ mountpoint: mountpoints[1] }),
  },
  machine: { memoryBytes: 1 },
};

test('the file system of containers is one of its own, unless the gate KubeletSeparateDiskGC is off', async () => {
  const layoutOf = (separateDisks: boolean) =>
    new SignalReader({
      sources,
      podsGroup: undefined,
      rootDir: '/var/lib/kubelet',
      separateDisks,
      monotonicMs: () => 0,
      log: silentLogger,
    }).findLayout();
  assert.deepEqual([await layoutOf(true), await layoutOf(false)], ['split', 'dedicated']);
});
