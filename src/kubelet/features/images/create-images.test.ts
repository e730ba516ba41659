import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { mountedImages } from './create-images.ts';

test('images that pods mount as volumes count as used', () => {
  const pods = [
    buildPod({
      'spec.volumes': [
        { name: 'a', image: { reference: 'example/data:1' } },
        { name: 'b', emptyDir: {} },
        { name: 'c', image: {} },
      ],
    }),
    buildPod({}),
    buildPod({ 'spec.volumes': [{ name: 'a', image: { reference: 'example/data:2' } }] }),
  ];
  assert.deepEqual(mountedImages(pods), ['example/data:1', 'example/data:2']);
});
