import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJsonQuietly, parseYamlQuietly, UnreadableText } from './quiet-parse.ts';

const messageOf = (parse: () => unknown): string => {
  try {
    parse();
  } catch (error) {
    assert.ok(error instanceof UnreadableText);
    assert.equal(error.cause, undefined);
    return error.message;
  }
  return '';
};

describe('errors of parsers', () => {
  it('quote nothing of the text, wherever it is truncated or broken', () => {
    const canary = 'CANARY';
    const [json, yaml] = [
      JSON.stringify({ users: [{ token: canary, key: [`${canary}${canary}`] }] }),
      `users:\n- token: ${canary}\n  key: &a "${canary}"\n  other: *a\n`,
    ];
    fc.assert(
      fc.property(
        fc.nat({ max: 70 }),
        fc.constantFrom('', '{', '"', ': ', '\n\t', '*x', '!!z ', '%', '@', '`', canary),
        (at, insert) => {
          const spoil = (text: string): string => text.slice(0, at) + insert + (insert === '' ? '' : text.slice(at));
          assert.ok(!messageOf(() => parseJsonQuietly(spoil(json))).includes('CAN'));
          assert.ok(!messageOf(() => parseYamlQuietly(spoil(yaml))).includes('CAN'));
        },
      ),
    );
  });

  it('contain the position', () => {
    assert.equal(
      messageOf(() => parseYamlQuietly('a: [1')),
      'it is not YAML: BAD_INDENT at line 1, column 6',
    );
    assert.equal(
      messageOf(() => parseJsonQuietly('{"a":1')),
      'it is not JSON at position 6',
    );
    assert.equal(
      messageOf(() => parseJsonQuietly('')),
      'it is empty, not JSON',
    );
    assert.deepEqual([parseYamlQuietly('a: [1]'), parseJsonQuietly('{"a":[1]}')], [{ a: [1] }, { a: [1] }]);
  });

  it('YAML with aliases that grow exponentially is rejected', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(
        (name, at) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[at]}`).join()}]`,
      ),
    ].join('\n');
    assert.equal(
      messageOf(() => parseYamlQuietly(bomb)),
      'it is not YAML',
    );
  });
});
