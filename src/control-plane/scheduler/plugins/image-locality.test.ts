import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { scoreAll } from '../testing/run-plugin.ts';
import { imageLocality } from './image-locality.ts';

const MEBIBYTE = 1024 * 1024;
const node = (name: string, images: Readonly<Record<string, number>> = {}): Node =>
  buildNode(name, {
    status: {
      images: Object.entries(images).map(([image, mebibytes]) => ({ names: [image], sizeBytes: mebibytes * MEBIBYTE })),
    },
  });
const scores = (nodes: readonly Node[], changes: Parameters<typeof buildPod>[1] = {}): readonly number[] | undefined =>
  scoreAll(imageLocality, buildPod('x', changes), { nodes });

// Upstream's limits: 23 MiB, and 1000 MiB for each container.
describe('a node that has the image', () => {
  it('scores by its size, between 23 MiB and 1000 MiB', () => {
    const of = (mebibytes: number): number | undefined => scores([node('a', { 'app:1': mebibytes })])?.[0];
    assert.deepEqual([0, 23, 33, 500, 1_000, 3_000].map(of), [0, 0, 1, 48, 100, 100]);
  });

  it('scores less when other nodes lack it', () => {
    const large = { 'app:1': 1_000 };
    assert.deepEqual(scores([node('a', large), node('b', large)]), [100, 100]);
    assert.deepEqual(scores([node('a', large), node('b')]), [48, 0]);
    assert.deepEqual(scores([node('a', large), node('b'), node('c'), node('d')]), [23, 0, 0, 0]);
  });

  it('scores by all images of the pod', () => {
    const container = (image?: string): object => ({ name: image ?? 'x', ...(image !== undefined && { image }) });
    const both = { spec: { containers: [container('app:1')], initContainers: [container('setup:1')] } };
    assert.deepEqual(scores([node('a', { 'app:1': 1_000, 'setup:1': 1_000 })], both), [100]);
    assert.deepEqual(scores([node('a', { 'setup:1': 1_000 })], both), [49]);
    const volumes = [
      { name: 'v', image: { reference: 'model:1' } },
      { name: 'w', image: {} },
      { name: 'e', emptyDir: {} },
    ];
    const mounted = { spec: { containers: [container('app:1')], volumes } };
    assert.deepEqual(scores([node('a', { 'model:1': 1_000 })], mounted), [100]);
    assert.deepEqual(
      scores([node('a', { 'app:1': 500 })], { spec: { containers: [container(), container('app:1')] } }),
      [24],
    );
  });

  it('an image is found under its name with the default tag', () => {
    assert.deepEqual(scores([node('a', { 'app:latest': 1_000 })], { image: 'app' }), [100]);
    assert.deepEqual(scores([node('a', { 'app:1': 1_000 })], { image: 'app:2' }), [0]);
  });
});
