import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseYaml } from './parse-yaml.ts';
import { readPlainJson } from './plain-json.ts';
import { toPlainValue } from './yaml-value.ts';

describe('plain JSON', () => {
  it('comes to the same value as by the YAML parser, which has nothing to say about it', () => {
    const text = fc
      .tuple(fc.dictionary(fc.string({ maxLength: 20 }), fc.jsonValue({ maxDepth: 4 })), fc.constantFrom(0, 2, 4))
      .map(([value, indent]) => JSON.stringify(value, undefined, indent));
    fc.assert(
      fc.property(text, (json) => {
        const plain = readPlainJson(`${json}\n`, 50);
        if (plain === undefined) return;
        const parsed = parseYaml(json, 100_000);
        assert.deepEqual(parsed.errors, []);
        const { value, problems } = toPlainValue(parsed.document!, { maxDepth: 50, maxAliasValues: 0 });
        assert.deepEqual([JSON.stringify(value), problems], [JSON.stringify(plain.value), []]);
      }),
      { numRuns: 2000 },
    );
  });

  it('is read as programs write it', () => {
    for (const indent of [0, 2, 4])
      assert.deepEqual(readPlainJson(JSON.stringify({ a: [1, { b: 'ü' }] }, undefined, indent), 50), {
        value: { a: [1, { b: 'ü' }] },
      });
  });

  it('is not taken for it when keys come twice, numbers would change, it is nested too deeply, or is something else', () => {
    for (const text of [
      '{"a":1,"a":2}',
      '{"a":1.0}',
      '{"a":9007199254740993}',
      '{"a":{"b":{"c":1}}}',
      '{a: 1}',
      'a: 1',
      '',
      '{"a":1} # no',
      '{"__proto__":1}',
    ])
      assert.equal(readPlainJson(text, 2), undefined, text);
  });
});
