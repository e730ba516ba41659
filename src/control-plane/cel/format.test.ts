import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evaluate } from './testing/evaluate-expression.ts';

const long = (length: number): string => 'a'.repeat(length);

/** For each format, texts that are valid and texts that are not. */
const samples: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  dns1123Label: [
    ['a', '0-a', long(63)],
    ['', 'A', 'a.b', 'a-', long(64)],
  ],
  dns1123Subdomain: [
    ['a.b', 'a', long(253)],
    ['a..b', 'a_b', long(254)],
  ],
  dns1035Label: [
    ['a', 'a-0'],
    ['0a', 'A', 'a-'],
  ],
  qualifiedName: [
    ['a', 'A_b.c', 'x.io/a'],
    ['/a', 'x.io/', 'a/b/c'],
  ],
  dns1123LabelPrefix: [
    ['a-', 'a'],
    ['a.b-', 'A'],
  ],
  dns1123SubdomainPrefix: [
    ['a.b-', 'a'],
    ['a..b-', 'AA-'],
  ],
  dns1035LabelPrefix: [
    ['a-', 'a'],
    ['00-', 'a.b-'],
  ],
  labelValue: [
    ['', 'A.b_c', long(63)],
    ['-a', 'a b', long(64)],
  ],
  uri: [
    ['http://a/b?c', '/path', 'urn:x', `/${long(8191)}`],
    ['', 'no uri', 'http://a b', '1a:b', 'a', `/${long(8192)}`, ' /a', 'x\n/a'],
  ],
  uuid: [
    ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'],
    ['', '123e4567-e89b-12d3-a456-42661417400', 'x123e4567-e89b-12d3-a456-426614174000', `${'0'.repeat(33)}`],
  ],
  byte: [
    ['', 'aGk='],
    ['*', 'a'],
  ],
  date: [
    ['2024-02-29', '0001-01-01'],
    ['2023-02-29', '2024-2-3', '2024-01-01x', 'x2024-01-01', '2024-01-32'],
  ],
  datetime: [
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.5+01:00'],
    ['2024-01-01', '2024-01-01T25:00:00Z'],
  ],
};

describe('the named formats of texts', () => {
  for (const [name, [valid, invalid]] of Object.entries(samples))
    it(`${name} is distinguished from invalid values`, () => {
      for (const text of [...valid, ...invalid]) {
        const source = `format.${name}().validate(${JSON.stringify(text)}).hasValue()`;
        assert.equal(evaluate(source), invalid.includes(text), source);
      }
    });

  it('say what is wrong with a text', () => {
    const said = (name: string, text: string): unknown =>
      evaluate(`format.${name}().validate('${text}').value().join('; ')`);
    assert.equal(said('uri', 'a b'), 'invalid URI for request');
    assert.equal(said('uuid', 'a'), 'does not match the UUID format');
    assert.equal(said('byte', '*'), 'invalid base64');
    assert.equal(said('date', 'a'), 'invalid date');
    assert.equal(said('datetime', 'a'), 'invalid datetime');
    assert.match(String(said('dns1035Label', '0')), /^a DNS-1035 label must consist of/);
  });

  it('are found by their names, and only those there are', () => {
    assert.equal(evaluate("format.named('uuid').value() == format.uuid()"), true);
    assert.equal(evaluate("format.named('uuid').value() == format.uri()"), false);
    assert.equal(evaluate("format.named('nothing').hasValue()"), false);
    assert.equal(evaluate("format.named('toString').hasValue()"), false);
    assert.equal(evaluate('type(format.uri()) == kubernetes.NamedFormat'), true);
  });
});
