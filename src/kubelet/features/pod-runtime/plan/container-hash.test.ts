import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerHash, isDefinitionChanged } from './container-hash.ts';

test("the hash agrees with the one in upstream's own test", () => {
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

test('a hash is compared as a number: leading zeros and the case of digits do not matter', () => {
  const container = { name: 'x', image: 'x:1' };
  const withHash = (hash: string): { annotations: Record<string, string> } => ({
    annotations: { 'io.kubernetes.container.hash': hash },
  });
  assert.equal(isDefinitionChanged(container, withHash(`00${containerHash(container).toUpperCase()}`)), false);
});

test('characters that Go escapes in JSON make different hashes', () => {
  const hashes = ['a<b', 'a>b', 'a&b'].map((image) => containerHash({ name: 'x', image }));
  assert.equal(new Set(hashes).size, 3);
});
