import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  difference,
  equalSets,
  FieldSetBuilder,
  hasPath,
  intersection,
  makeNode,
  pathsOf,
  recursiveDifference,
  union,
} from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { canonicalFieldSet, fieldSetOfNames, formatPath } from './path-element.ts';
import { SharedSets } from './shared-sets.ts';
import { freezeDeep } from './testing/arbitrary-json.ts';

type Path = readonly string[];
const elements = fc.constantFrom('f:a', 'f:b', 'f:__proto__', 'k:{"name":"x"}', 'v:"y"');
const anyPaths: fc.Arbitrary<Path[]> = fc.array(fc.array(elements, { minLength: 1, maxLength: 3 }), { maxLength: 6 });

const one = ([first, ...rest]: Path): FieldSet | undefined => {
  if (first === undefined) return undefined;
  const out = new FieldSetBuilder();
  out.add(first, makeNode(rest.length === 0, one(rest)));
  return out.build();
};
const setOf = (paths: readonly Path[]): FieldSet | undefined =>
  freezeDeep(paths.map(one).reduce((all, set) => union(all, set), undefined));
const keyOf = (path: Path): string => JSON.stringify(path);
const keysOf = (set: FieldSet | undefined): string[] => pathsOf(set).map(keyOf).sort();
const model = (paths: readonly Path[]): Set<string> => new Set(paths.map(keyOf));
const sorted = (keys: Iterable<string>): string[] => [...keys].sort();

test('union, intersection and differences are those of sets of paths', () => {
  fc.assert(
    fc.property(anyPaths, anyPaths, (left, right) => {
      const [a, b] = [setOf(left), setOf(right)];
      const [x, y] = [model(left), model(right)];
      assert.deepEqual(keysOf(a), sorted(x));
      assert.deepEqual(keysOf(union(a, b)), sorted(x.union(y)));
      assert.deepEqual(keysOf(intersection(a, b)), sorted(x.intersection(y)));
      assert.deepEqual(keysOf(difference(a, b)), sorted(x.difference(y)));
      const below = left.filter(
        (path) => !right.some((other) => other.every((element, index) => path[index] === element)),
      );
      assert.deepEqual(keysOf(recursiveDifference(a, b)), sorted(model(below)));
    }),
  );
});

test('large sets are subtracted as small ones are', () => {
  const many = Array.from({ length: 200 }, (_, index) => ['f:data', `f:k${index}`]);
  const set = setOf([['f:data'], ...many, ['f:data', 'f:k1', 'f:x']]);
  assert.deepEqual(
    keysOf(difference(set, setOf(many.slice(1)))),
    sorted(model([['f:data'], ['f:data', 'f:k0'], ['f:data', 'f:k1', 'f:x']])),
  );
  assert.deepEqual(recursiveDifference(set, setOf(many)), { 'f:data': {} });
  const others = setOf(many.map(([, key = '']) => ['f:data', `${key}y`]));
  assert.equal(difference(set, others), set);
});

test('sets in which nothing is left are no sets, so that equal sets look the same', () => {
  fc.assert(
    fc.property(anyPaths, anyPaths, (left, right) => {
      const [a, b] = [setOf(left), setOf(right)];
      assert.equal(difference(a, a), undefined);
      assert.ok(equalSets(union(a, b), union(b, a)));
      assert.ok(equalSets(difference(union(a, b), b), difference(a, b)));
      assert.ok(equalSets(union(difference(a, b), intersection(a, b)), a));
      for (const set of [union(a, b), difference(a, b), intersection(a, b)])
        if (set !== undefined) assert.equal(canonicalFieldSet(set), set);
      for (const path of left) assert.ok(hasPath(a, path));
    }),
  );
});

test('an operation that changes nothing gives back the same set', () => {
  const set = setOf([['f:a', 'f:b'], ['f:c']]);
  assert.equal(union(set, setOf([['f:c']])), set);
  assert.equal(difference(set, setOf([['f:d'], ['f:a']])), set);
});

test('sets of other writers are read whatever their spelling', () => {
  const given = {
    'f:spec': { '.': {}, 'k:{"protocol":"TCP","containerPort":80}': { '.': {} }, 'v: "x"': {}, 'i:03': {} },
  };
  assert.deepEqual(canonicalFieldSet(given), {
    'f:spec': { '.': {}, 'k:{"containerPort":80,"protocol":"TCP"}': {}, 'v:"x"': {}, 'i:3': {} },
  });
});

test('an invalid set is an error', () => {
  for (const [given, problem] of [
    [{ spec: {} }, 'unknown path element "spec"'],
    [{ 'k:[': {} }, 'unknown path element "k:["'],
    [{ 'f:a': 1 }, 'expected a map of fields'],
    [[], 'expected a map of fields'],
  ] as const) {
    assert.equal(canonicalFieldSet(given), problem);
  }
  let deep: object = {};
  for (let level = 0; level < 5000; level++) deep = { 'f:a': deep };
  assert.equal(canonicalFieldSet(deep), 'fields are nested too deeply');
});

test('paths are shown as the API server shows them', () => {
  assert.equal(
    formatPath(['f:spec', 'f:ports', 'k:{"containerPort":80,"protocol":"TCP"}', 'f:hostPort']),
    '.spec.ports[containerPort=80,protocol="TCP"].hostPort',
  );
  assert.equal(formatPath(['f:metadata', 'f:finalizers', 'v:"a.io/b"']), '.metadata.finalizers[="a.io/b"]');
});

test('a set of names holds those and nothing between', () => {
  assert.deepEqual(fieldSetOfNames(['status', 'metadata.labels', 'metadata']), {
    'f:status': {},
    'f:metadata': { '.': {}, 'f:labels': {} },
  });
});

test('equal sets and equal parts of sets are one object, and say the same as before', () => {
  const shared = new SharedSets();
  fc.assert(
    fc.property(anyPaths, (paths) => {
      const set = setOf(paths);
      if (set === undefined) return;
      const once = shared.share(set);
      assert.deepEqual(once, set);
      assert.equal(shared.share(JSON.parse(JSON.stringify(set)) as FieldSet), once);
      assert.equal(shared.share(once), once);
    }),
  );
});

test('a set that is kept has its elements in the order of the API server, whatever order they came in', () => {
  const ordered = [
    '.',
    'f:a',
    'f:b',
    'k:{"containerPort":9,"protocol":"TCP"}',
    'k:{"containerPort":80,"protocol":"TCP"}',
    'k:{"containerPort":80,"protocol":"UDP"}',
    'k:{"containerPort":8080,"protocol":"TCP"}',
    'k:{"name":"a"}',
    'k:{"name":"a b"}',
    'v:2',
    'v:10',
    'v:"10"',
    'v:"2"',
    'v:true',
    'i:2',
    'i:10',
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(ordered), fc.shuffledSubarray(ordered), (outer, inner) => {
      const node = (elements: readonly string[], below: FieldSet): FieldSet =>
        Object.fromEntries(elements.map((element) => [element, element === '.' ? {} : below]));
      const set = new SharedSets().share(node(outer, node(inner, {})));
      const expected = (elements: readonly string[]): string[] => ordered.filter((each) => elements.includes(each));
      assert.deepEqual(Object.keys(set), expected(outer));
      for (const element of outer)
        if (element !== '.') assert.deepEqual(Object.keys(set[element] ?? {}), expected(inner));
    }),
  );
});
