import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { FileVersion } from './file-version.ts';
import { combineVersions, computeFileVersion, nothing, takesAway } from './file-version.ts';

const version = (...images: string[]): FileVersion => ({
  ...nothing,
  pods: images.map((image) =>
    buildPod({ 'metadata.name': 'web', 'metadata.namespace': 'default', 'spec.containers[0].image': image }),
  ),
});
const images = (files: {
  pods: readonly { spec: { containers: readonly { image?: string }[] } }[];
}): (string | undefined)[] => files.pods.map((pod) => pod.spec.containers[0]?.image);

test('of two pods with the same name the first file wins, and the other file gets a problem', () => {
  const combined = combineVersions([
    ['a.yaml', version('one')],
    ['b.yaml', version('two')],
  ]);
  assert.deepEqual([images(combined), [...combined.duplicates.keys()]], [['one'], ['b.yaml']]);
});

test('an active pod stays when a file that sorts before it adds another of its name', () => {
  const before = combineVersions([['b.yaml', version('two')]]);
  const combined = combineVersions(
    [
      ['a.yaml', version('one')],
      ['b.yaml', version('two')],
    ],
    before.owners,
  );
  assert.deepEqual([images(combined), [...combined.duplicates.keys()]], [['two'], ['a.yaml']]);
});

test('the other file is used when the active one drops the name', () => {
  const before = combineVersions([['b.yaml', version('two')]]);
  const both = combineVersions(
    [
      ['a.yaml', version('one')],
      ['b.yaml', version('two')],
    ],
    before.owners,
  );
  assert.deepEqual(
    images(
      combineVersions(
        [
          ['a.yaml', version('one')],
          ['b.yaml', version()],
        ],
        both.owners,
      ),
    ),
    ['one'],
  );
});

test('a file that defines one name twice keeps its first', () => {
  const combined = combineVersions([['a.yaml', version('one', 'two')]]);
  assert.deepEqual([images(combined), combined.duplicates.get('a.yaml')?.length], [['one'], 1]);
});

const map = (name: string, value: string): FileVersion['objects'][number] => ({
  kind: 'ConfigMap',
  object: { metadata: { name, namespace: 'default', uid: '' }, data: { value } },
});
const volume = (name: string): FileVersion['objects'][number] => ({
  kind: 'PersistentVolume',
  object: { metadata: { name, namespace: '', uid: '' }, spec: {} },
});

test('removed objects count, whatever their kind; changed or added ones do not', () => {
  const before: FileVersion = { pods: [], objects: [map('a', '1'), volume('a')] };
  assert.deepEqual(
    [
      { ...before, objects: [map('a', '2'), volume('a'), map('b', '1')] },
      { ...before, objects: [map('a', '1')] },
      nothing,
    ].map((next) => takesAway(before, next)),
    [false, true, true],
  );
});

test('an invalid version adds objects and changes none', () => {
  const content = {
    pods: [],
    objects: [map('a', '2'), map('b', '1')],
    errors: [{ file: 'f', message: 'x' }],
    warnings: [],
  };
  assert.deepEqual(computeFileVersion({ pods: [], objects: [map('a', '1')] }, content).objects, [
    map('a', '1'),
    map('b', '1'),
  ]);
});

test('objects of one name and different kinds are different; of the same kind the second is a problem', () => {
  const combined = combineVersions([
    ['a.yaml', { pods: [], objects: [map('x', '1'), volume('x')] }],
    ['b.yaml', { pods: [], objects: [volume('x')] }],
  ]);
  assert.deepEqual(
    [combined.objects.length, combined.duplicates.get('b.yaml')?.map(({ message }) => message)],
    [2, ['duplicate: PersistentVolume x is already defined in a.yaml, which stays in force; this one is ignored']],
  );
});
