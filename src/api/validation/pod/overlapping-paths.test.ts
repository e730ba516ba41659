import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { overlappingPaths } from './overlapping-paths.ts';

const warnings = (paths: readonly string[]): string[] =>
  overlappingPaths({ name: 'v', configMap: { name: 'c', items: paths.map((path) => ({ key: 'k', path })) } });
const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'a-', '/', '/a', '/b'), { maxLength: 4 })
  .map((parts) => parts.join(''));

test('warns about each pair of equal or nested paths, in the order of the list', () => {
  fc.assert(
    fc.property(fc.array(anyPath, { maxLength: 10 }), (paths) => {
      const trimmed = paths.map((path) => path.replace(/\/+$/, ''));
      const overlap = (one: string, other: string): boolean =>
        one !== '' && other !== '' && (`${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`));
      const expected = trimmed.flatMap((later, index) =>
        trimmed
          .slice(0, index)
          .filter((earlier) => overlap(later, earlier))
          .map((earlier) => `volume "v" (ConfigMap "c"): overlapping paths: "${later}" with "${earlier}"`),
      );
      assert.deepEqual(warnings(paths), expected);
    }),
  );
});

test('of very many pairs some are named', () => {
  assert.equal(warnings(Array.from({ length: 5000 }, () => 'a')).length, 100);
});
