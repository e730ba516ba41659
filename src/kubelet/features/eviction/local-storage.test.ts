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

test('a container must respect its own limit although the pod has room; layers on other file systems do not count', () => {
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

test('limits of single containers count, even if not all containers have one, and so do those of sidecars', () => {
  const limits = { limits: { 'ephemeral-storage': '1Ki' } };
  const container = (name: string, resources?: object) => ({ name, image: 'i:1', ...(resources && { resources }) });
  const some = buildPod({ 'spec.containers': [container('main'), container('other', limits)] });
  const zero = buildPod({
    'spec.containers': [container('main', { limits: { 'ephemeral-storage': '0' } }), container('other')],
  });
  const sidecar = { ...container('side', limits), restartPolicy: 'Always' };
  const onlyPod = buildPod({ 'spec.containers': [container('main', limits)], 'spec.initContainers': [sidecar] });
  const onlySide = buildPod({ 'spec.containers': [container('main')], 'spec.initContainers': [sidecar] });
  assert.deepEqual([some, zero, onlyPod, onlySide].map(hasStorageLimit), [true, true, true, true]);
  const other = { ...use(0, 0), logs: new Map([['other', tree(1025)]]), total: tree(1024) };
  assert.match(exceededLimit(some, other, 'shared')?.message ?? '', /^Container other exceeded/);
  assert.equal(
    exceededLimit(some, { ...use(5000, 5000), total: tree(1024) }, 'shared'),
    undefined,
    'a container without a limit',
  );
  assert.equal(
    exceededLimit(zero, { ...use(5000, 5000), total: tree(0) }, 'shared'),
    undefined,
    '0 is no limit of a container',
  );
  assert.match(exceededLimit(onlyPod, use(2048, 1), 'shared')?.message ?? '', /^Pod ephemeral/);
});

test('a value that was not measured exceeds no limit', () => {
  const nothing = { ...use(0, 0), layers: new Map(), logs: new Map(), volumes: new Map() };
  assert.equal(exceededLimit(pod, nothing, 'shared'), undefined);
});
