import assert from 'node:assert/strict';
import test from 'node:test';
import { escapeName } from './escape-name.ts';

test('names that are identifiers stay as they are', () => {
  for (const name of ['a', 'A_b0', '_x', 'selfish', 'int']) assert.equal(escapeName(name), name);
});

test('words of the language and characters of other names are escaped', () => {
  const escaped = {
    namespace: '__namespace__',
    in: '__in__',
    'a.b': 'a__dot__b',
    'a-b': 'a__dash__b',
    'a/b': 'a__slash__b',
    a__b: 'a__underscores__b',
    a___b: 'a__underscores___b',
    '-x': '__dash__x',
  };
  for (const [name, expected] of Object.entries(escaped)) assert.equal(escapeName(name), expected, name);
});

test('names with other characters cannot be read', () => {
  for (const name of ['', '0a', 'a b', 'a$', '$a', 'ä', 'a\n']) assert.equal(escapeName(name), undefined, name);
});
