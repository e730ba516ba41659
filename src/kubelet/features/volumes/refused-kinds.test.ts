import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/core/volume.ts';
import { refusedKind } from './refused-kinds.ts';

const refusalOf = (source: Omit<Volume, 'name'>): string | undefined =>
  refusedKind({
    kind: 'inline',
    name: 'v',
    podVolume: 'v',
    readOnly: false,
    mode: 'Filesystem',
    mountOptions: [],
    volume: { name: 'v', ...source },
  });

test('gitRepo is rejected because it ran hooks of the repository (CVE-2024-10220) and read local ones (CVE-2025-1767)', () => {
  assert.match(refusalOf({ gitRepo: { repository: '/etc' } }) ?? '', /^git-repo volume plugin has been disabled/);
});

test('kinds that were removed are rejected with that reason, others are not', () => {
  assert.match(refusalOf({ glusterfs: { endpoints: 'e', path: 'p' } }) ?? '', /glusterfs was removed from Kubernetes/);
  assert.deepEqual([refusalOf({ emptyDir: {} }), refusalOf({})], [undefined, undefined]);
});

test('each removed kind is rejected by its name', () => {
  const removed: Omit<Volume, 'name'>[] = [
    { rbd: { monitors: ['m'], image: 'x' } },
    { cephfs: { monitors: ['m'] } },
    { flocker: { datasetName: 'x' } },
    { quobyte: { registry: 'r', volume: 'x' } },
    { photonPersistentDisk: { pdID: 'x' } },
    { scaleIO: { gateway: 'g', system: 's', secretRef: { name: 'x' } } },
    { storageos: { volumeName: 'x' } },
  ];
  for (const source of removed)
    assert.equal(
      refusalOf(source),
      `no volume plugin matched: ${Object.keys(source).join()} was removed from Kubernetes`,
    );
});
