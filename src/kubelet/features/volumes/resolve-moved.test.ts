import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/core/volume.ts';
import { errorKind } from '../../../base/errors.ts';
import { inlineSpec } from './resolve-volume.ts';

const specOf = (source: object): ReturnType<typeof inlineSpec> =>
  inlineSpec({ name: 'v', ...source } as Volume, 'shop');

test('a volume of a cloud in a pod is one of its CSI driver, in a folder of that volume’s name', () => {
  const spec = specOf({ azureDisk: { diskName: 'd', diskURI: '/subscriptions/a/d', readOnly: true } });
  assert.ok(spec?.kind === 'persistent');
  assert.deepEqual(
    [spec.name, spec.podVolume, spec.claim, spec.readOnly, spec.persistentVolume.spec.csi?.driver],
    ['~subscriptions~a~d', 'v', undefined, true, 'disk.csi.azure.com'],
  );
});

test('a migrated volume that its driver cannot serve is rejected, and other volumes stay inline', () => {
  assert.throws(
    () => specOf({ awsElasticBlockStore: { volumeID: 'aws://zone/disk' } }),
    (error) => errorKind(error) === 'Invalid',
  );
  assert.equal(specOf({ emptyDir: {} })?.kind, 'inline');
});
