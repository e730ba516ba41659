import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DiskLayout } from './disk-layout.ts';
import { diskPartsOf, nodeReclaimOf } from './disk-layout.ts';
import type { EvictionSignal } from './signals.ts';

const signals: readonly EvictionSignal[] = ['nodefs.available', 'imagefs.inodesFree', 'containerfs.available'];
const words = (facts: object): string =>
  Object.entries(facts)
    .flatMap(([name, is]) => (is === true ? [name] : []))
    .join('+');
const table = (of: (signal: EvictionSignal, layout: DiskLayout) => object): Record<string, string[]> =>
  Object.fromEntries(
    (['shared', 'dedicated', 'split'] as const).map((layout) => [
      layout,
      signals.map((each) => words(of(each, layout))),
    ]),
  );

test('the usage of a pod on each file system depends on the location of images and layers', () => {
  assert.deepEqual(table(diskPartsOf), {
    shared: ['layers+logs+volumes', 'layers+logs+volumes', 'layers+logs+volumes'],
    dedicated: ['logs+volumes', 'layers', 'layers'],
    split: ['layers+logs+volumes', '', 'layers+logs+volumes'],
  });
});

test('the node frees only what lies on the file system that is short', () => {
  assert.deepEqual(table(nodeReclaimOf), {
    shared: ['containers+images', 'containers+images', 'containers+images'],
    dedicated: ['', 'containers+images', 'containers+images'],
    split: ['containers', 'images', 'containers'],
  });
  assert.deepEqual(nodeReclaimOf('memory.available', 'shared'), { containers: false, images: false });
});
