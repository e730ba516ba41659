import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/core/volume.ts';
import { refusedKind } from './refused-kinds.ts';

const refusalOf = (source: Omit<Volume, 'name'>): string | undefined =>
  refusedKind({ kind: 'inline', name: 'v', podVolume: 'v', readOnly: false, mode: 'Filesystem', mountOptions: [], volume: { name: 'v', ...source } });

test('gitRepo is refused, as it ran hooks of the repository (CVE-2024-10220) and read local ones (CVE-2025-1767)', () => {
  assert.match(refusalOf({ gitRepo: { repository: '/etc' } }) ?? '', /^git-repo volume plugin has been disabled/);
});

test('kinds that moved to CSI drivers or were removed say so; others are not refused', () => {
  assert.match(refusalOf({ cinder: { volumeID: 'x' } }) ?? '', /cinder has moved to the CSI driver cinder\.csi\.openstack\.org/);
  assert.match(refusalOf({ glusterfs: { endpoints: 'e', path: 'p' } }) ?? '', /glusterfs was removed from Kubernetes/);
  assert.deepEqual([refusalOf({ emptyDir: {} }), refusalOf({})], [undefined, undefined]);
});
