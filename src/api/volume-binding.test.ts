import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim } from './core/persistent-volume-claim.ts';
import type { PersistentVolume } from './core/persistent-volume.ts';
import { boundVolumeOf } from './volume-binding.ts';

const claim = (volumeName?: string): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'x', uid: '' },
  spec: volumeName === undefined ? {} : { volumeName },
});
const volume = (name: string, claimRef?: PersistentVolume['spec']['claimRef']): PersistentVolume => ({
  metadata: { name, namespace: '', uid: '' },
  spec: claimRef === undefined ? {} : { claimRef },
});
const boundTo = (of: PersistentVolumeClaim, ...volumes: PersistentVolume[]): string | undefined =>
  boundVolumeOf(of, volumes)?.metadata.name;

test('a claim is bound to the volume it names, or to the one that names it', () => {
  assert.equal(boundTo(claim('two'), volume('one'), volume('two')), 'two');
  assert.equal(boundTo(claim(), volume('one'), volume('two', { name: 'c', namespace: 'x' })), 'two');
});

test('a volume that names another claim is not bound, and nothing is matched by chance', () => {
  assert.equal(boundTo(claim('one'), volume('one', { name: 'other', namespace: 'x' })), undefined);
  assert.equal(boundTo(claim(), volume('one', { name: 'c', namespace: 'y' })), undefined);
  assert.equal(boundTo(claim(), volume('one')), undefined);
  assert.equal(boundTo(claim('none'), volume('one')), undefined);
});

test('a claimRef for an earlier claim of the same name does not bind', () => {
  const earlier = volume('one', { name: 'c', namespace: 'x', uid: 'old' });
  assert.equal(boundTo({ ...claim(), metadata: { name: 'c', namespace: 'x', uid: 'new' } }, earlier), undefined);
});
