import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { exceededLimit, hasStorageLimit } from './local-storage.ts';
import type { PodDiskUse } from './pod-usage.ts';

const tree = (usedBytes: number) => ({ usedBytes, inodesUsed: 1 });
const use = (layer: number, log: number, volume = 0): PodDiskUse => ({
  layers: new Map([['main', tree(layer)]]),
  logs: new Map([['main', tree(log)]]),
  volumes: new Map([['cache', tree(volume)]]),
  total: tree(layer + log + volume),
});
const pod = buildPod({
  'spec.containers': [{ name: 'main', image: 'i:1', resources: { limits: { 'ephemeral-storage': '1Ki' } } }],
  'spec.volumes': [{ name: 'cache', emptyDir: { sizeLimit: '512' } }],
});

test('a volume, then the pod as a whole, then a container exceeds its limit, each with its own words', () => {
  assert.deepEqual(
    [use(0, 0, 513), use(1000, 25), use(500, 524), use(0, 0, 512)].map(
      (each) => exceededLimit(pod, each, 'shared')?.message,
    ),
    [
      'Usage of EmptyDir volume "cache" exceeds the limit "512". ',
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ',
      undefined,
      undefined,
    ],
  );
});

test('a container is held to its own limit although the pod as a whole has room; layers elsewhere do not count', () => {
  const two = buildPod({
    'spec.containers': ['main', 'other'].map((name) => ({
      name,
      image: 'i:1',
      resources: { limits: { 'ephemeral-storage': '1Ki' } },
    })),
  });
  assert.deepEqual(exceededLimit(two, use(1000, 25), 'shared'), {
    signal: 'ephemeralcontainerfs.limit',
    message: 'Container main exceeded its local ephemeral storage limit "1Ki". ',
  });
  assert.equal(exceededLimit(two, use(1000, 25), 'dedicated'), undefined);
});

test('only pods with a limit are measured', () => {
  const withDir = (emptyDir: object) => buildPod({ 'spec.volumes': [{ name: 'cache', emptyDir }] });
  assert.deepEqual(
    [pod, buildPod(), withDir({}), withDir({ sizeLimit: '0' }), withDir({ sizeLimit: '1' })].map(hasStorageLimit),
    [true, false, false, false, true],
  );
});
