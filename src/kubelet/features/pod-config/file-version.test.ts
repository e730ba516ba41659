import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { combineVersions, nothing, type FileVersion } from './file-version.ts';

const version = (...images: string[]): FileVersion => ({ ...nothing, pods: images.map((image) => buildPod({ 'metadata.name': 'web', 'metadata.namespace': 'default', 'spec.containers[0].image': image })) });
const images = (files: { pods: readonly { spec: { containers: readonly { image?: string }[] } }[] }): (string | undefined)[] => files.pods.map((pod) => pod.spec.containers[0]?.image);

test('of two pods of one name the first file wins, and the other file is told', () => {
  const combined = combineVersions([['a.yaml', version('one')], ['b.yaml', version('two')]]);
  assert.deepEqual([images(combined), [...combined.duplicates.keys()]], [['one'], ['b.yaml']]);
});

test('a pod in force stays when a file that sorts before it brings another of its name', () => {
  const before = combineVersions([['b.yaml', version('two')]]);
  const combined = combineVersions([['a.yaml', version('one')], ['b.yaml', version('two')]], before.owners);
  assert.deepEqual([images(combined), [...combined.duplicates.keys()]], [['two'], ['a.yaml']]);
});

test('the other takes over when the file in force gives the name up', () => {
  const before = combineVersions([['b.yaml', version('two')]]);
  const both = combineVersions([['a.yaml', version('one')], ['b.yaml', version('two')]], before.owners);
  assert.deepEqual(images(combineVersions([['a.yaml', version('one')], ['b.yaml', version()]], both.owners)), ['one']);
});

test('a file that defines one name twice keeps its first', () => {
  const combined = combineVersions([['a.yaml', version('one', 'two')]]);
  assert.deepEqual([images(combined), combined.duplicates.get('a.yaml')?.length], [['one'], 1]);
});
