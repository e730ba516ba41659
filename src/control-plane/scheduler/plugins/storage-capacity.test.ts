import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import { EnoughStorage, volumeLimit } from './storage-capacity.ts';

const capacity = (
  nodeTopology: CSIStorageCapacity['nodeTopology'],
  more: Partial<CSIStorageCapacity> = {},
): CSIStorageCapacity => ({
  metadata: { name: 'c', namespace: 'default', uid: 'c' },
  storageClassName: 'fast',
  capacity: '10Gi',
  ...(nodeTopology !== undefined && { nodeTopology }),
  ...more,
});
const inZone = (zone: string, more: Partial<CSIStorageCapacity> = {}): CSIStorageCapacity =>
  capacity({ matchLabels: { zone } }, more);
const reaches = (labels: Record<string, string>, ...capacities: CSIStorageCapacity[]): boolean =>
  new EnoughStorage(capacities, 'fast', '10Gi').reaches(labels);

it('the volume limit is maximumVolumeSize if set, else the capacity', () => {
  assert.equal(volumeLimit(inZone('a')), '10Gi');
  assert.equal(volumeLimit(inZone('a', { maximumVolumeSize: '1Gi' })), '1Gi');
  assert.equal(volumeLimit(inZone('a', { capacity: undefined })), undefined);
});

describe('a node reaches enough storage', () => {
  it('if its labels match the topology, and class and size fit', () => {
    assert.equal(reaches({ zone: 'a' }, inZone('a')), true);
    assert.equal(reaches({ zone: 'b' }, inZone('a')), false);
    assert.equal(reaches({}, inZone('a')), false);
    assert.equal(reaches({}, inZone('')), false);
    assert.equal(reaches({ zone: 'a' }, inZone('a', { storageClassName: 'slow' })), false);
    assert.equal(reaches({ zone: 'a' }, inZone('a', { capacity: '9Gi' })), false);
    assert.equal(reaches({ zone: 'a' }, inZone('a', { maximumVolumeSize: '9Gi' })), false);
    assert.equal(reaches({ zone: 'a' }, inZone('a', { capacity: undefined })), false);
  });

  it('any of several capacity objects suffices', () => {
    const all = [inZone('a'), inZone('b'), capacity({ matchLabels: { host: 'h' } })];
    const labels: Record<string, string>[] = [{ zone: 'a' }, { zone: 'b' }, { host: 'h', zone: 'c' }, { zone: 'c' }];
    assert.deepEqual(
      labels.map((each) => reaches(each, ...all)),
      [true, true, true, false],
    );
  });

  it('any kind of topology selector works; without one no node matches', () => {
    const both = capacity({ matchLabels: { zone: 'a', host: 'h' } });
    assert.deepEqual(
      [reaches({ zone: 'a', host: 'h' }, both), reaches({ zone: 'a' }, both), reaches({ host: 'h' }, both)],
      [true, false, false],
    );
    const expression = { matchExpressions: [{ key: 'zone', operator: 'In' as const, values: ['a', 'b'] }] };
    assert.deepEqual(
      [reaches({ zone: 'b' }, capacity(expression)), reaches({ zone: 'c' }, capacity(expression))],
      [true, false],
    );
    const mixed = capacity({ matchLabels: { host: 'h' }, ...expression });
    assert.deepEqual([reaches({ zone: 'a', host: 'h' }, mixed), reaches({ host: 'h' }, mixed)], [true, false]);
    assert.deepEqual([reaches({}, capacity({})), reaches({}, capacity(undefined)), reaches({})], [true, false, false]);
  });
});
