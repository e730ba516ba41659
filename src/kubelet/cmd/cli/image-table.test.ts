import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageGcText } from './image-table.ts';

test('the preview of image garbage collection shows the disk, what would be freed, and each image with the reason', () => {
  const report = {
    mountpoint: '/var/lib/containerd',
    capacityBytes: 100,
    availableBytes: 8,
    usedPercent: 92,
    highPercent: 85,
    lowPercent: 80,
    bytesToFree: 12 * 2 ** 20,
    images: [
      { name: 'old:1', id: 'a', sizeBytes: 5 * 2 ** 20, verdict: 'remove', why: 'space' },
      { name: 'web:1', id: 'b', sizeBytes: 2 ** 19, verdict: 'kept', why: 'in use' },
    ] as const,
  };
  assert.equal(
    imageGcText(report),
    `/var/lib/containerd: 92% used; images are removed from 85% down to 80%
now: 1 images, 5.0Mi of the 12.0Mi that are to be freed

IMAGE   SIZE    VERDICT   WHY
old:1   5.0Mi   remove    space
web:1   0.5Mi   kept      in use
`,
  );
});
