import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerHash, isDefinitionChanged } from './container-hash.ts';

test('the hash agrees with the one upstream pins in its own test', () => {
  assert.equal(containerHash({ name: 'test_container', image: 'foo/image:v1' }), '8e45cbd0');
});

test('only name and image decide whether a definition changed', () => {
  const actual = { annotations: { 'io.kubernetes.container.hash': '8e45cbd0' } };
  assert.equal(isDefinitionChanged({ name: 'test_container', image: 'foo/image:v1' }, actual), false);
  assert.equal(isDefinitionChanged({ name: 'test_container', image: 'foo/image:v2' }, actual), true);
  assert.equal(isDefinitionChanged({ name: 'test_container', image: 'foo/image:v1' }, { annotations: {} }), true);
});

test('a container without an image has a hash too', () => {
  assert.match(containerHash({ name: 'x' }), /^[0-9a-f]+$/);
});
