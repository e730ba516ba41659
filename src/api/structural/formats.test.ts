import assert from 'node:assert/strict';
import { it } from 'node:test';
import { matchesFormat } from './formats.ts';

/** What is of a format, and what is not. */
const examples: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  bsonobjectid: [
    ['507f1f77bcf86cd799439011'],
    ['507f1f77bcf86cd79943901', '507f1f77bcf86cd7994390111', 'g'.repeat(24)],
  ],
  uri: [
    ['https://a/b?c=d', 'mailto:x@y', '/path'],
    ['a/b', '1a:b', 'https:', 'http://a b', 'http://a\u0007', ''],
  ],
  email: [
    ['a@b', 'A B <a@b>'],
    ['ab', '@b', 'a@', 'a @b', 'a@b c', ''],
  ],
  hostname: [
    ['a.b-c.d', 'a_b', '_a', 'x.', 'bücher.example', `${'a'.repeat(63)}.b`],
    ['', '-a', 'a-', 'a..b', 'a b', `${'a'.repeat(64)}.b`, `${'a.'.repeat(127)}ab`],
  ],
  ipv4: [['10.0.0.1'], ['::1', '10.0.0', '10.0.0.256']],
  ipv6: [
    ['::1', 'fd00::2'],
    ['10.0.0.1', 'fd00'],
  ],
  cidr: [
    ['10.0.0.0/8', '10.0.0.0/32', '10.0.0.0/0', 'fd00::/128'],
    ['10.0.0.0', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/8/8', '10.0.0.0/', 'x/8', '10.0.0.0/a8', '10.0.0.0/8a'],
  ],
  mac: [
    ['00:1a:2B:3c:4d:5e', '00-1a-2b-3c-4d-5e', '001a.2b3c.4d5e'],
    ['00:1a-2b:3c:4d:5e', '00:1a:2b:3c:4d', 'x'],
  ],
  uuid: [
    ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'],
    ['123e4567-e89b-12d3-a456-42661417400', 'x123e4567-e89b-12d3-a456-426614174000', ''],
  ],
  uuid3: [['123e4567-e89b-32d3-a456-426614174000'], ['123e4567-e89b-42d3-a456-426614174000']],
  uuid4: [
    ['123e4567-e89b-42d3-a456-426614174000', '123e4567-e89b-42d3-B456-426614174000'],
    ['123e4567-e89b-42d3-7456-426614174000', '123e4567-e89b-52d3-a456-426614174000'],
  ],
  uuid5: [['123e4567-e89b-52d3-a456-426614174000'], ['123e4567-e89b-52d3-c456-426614174000']],
  isbn10: [
    ['0-306-40615-2', '080442957X'],
    ['0306406153', '080442957x', '030640615', '9780306406157'],
  ],
  isbn13: [
    ['978-0-306-40615-7', '9780306406157'],
    ['9780306406158', '978030640615', '0306406152'],
  ],
  isbn: [
    ['0306406152', '9780306406157'],
    ['0306406153', '9780306406158'],
  ],
  creditcard: [
    ['4111 1111 1111 1111', '5500-0000-0000-0004', '378282246310005'],
    ['4111111111111112', '411111111111', '41111111111111111', ''],
  ],
  ssn: [
    ['111-22-3333', '111 22 3333', '111223333'],
    ['111-22-333', '111_22_3333', '111-22-33334'],
  ],
  hexcolor: [
    ['#fff', 'FFAA00', '#ffaa00'],
    ['#ff', '#ffaa0', '#gggggg', '#ffaa000'],
  ],
  rgbcolor: [
    ['rgb(0, 255,1)', 'rgb( 1 , 2 , 3 )'],
    ['rgb(0,256,0)', 'rgb(0,0)', 'rgb(0,0,1000)', 'RGB(0,0,0)'],
  ],
  byte: [
    ['', 'YQ==', 'YWI=', 'YWJj', '+/+/'],
    ['YQ=', 'YQ', 'YW=j', 'Y', '_-_-'],
  ],
  date: [
    ['2024-02-29', '1999-12-31'],
    ['2023-02-29', '2024-13-01', '2024-1-01', '2024-02-29T', ''],
  ],
  'date-time': [
    ['2024-02-29T01:02:03Z', '2024-02-29t01:02:03.123456789+01:00', '2024-02-29T01:02:03-0100', '2024-02-29T01:02:03z'],
    ['2024-02-29', '2023-02-29T01:02:03Z', '2024-02-29T01:02:03', '2024-02-29T01:02:03.Z', '2024-02-29T1:02:03Z'],
  ],
  duration: [
    ['1h2m3.5s', '-1s', '22 ns', '1 day', '2weeks', '1.5 hours', ' 3 min '],
    ['1', 'day', '1 month', '1 d x', ''],
  ],
  'k8s-short-name': [
    ['a-b', 'a'],
    ['A', 'a.b', '-a', ''],
  ],
  'k8s-long-name': [
    ['a.b-c', 'a'],
    ['A', 'a..b', ''],
  ],
};

for (const [format, [good, bad]] of Object.entries(examples))
  it(`${format} is known by its examples`, () => {
    assert.deepEqual(
      good.filter((text) => !matchesFormat(format, text)),
      [],
      'refused',
    );
    assert.deepEqual(
      bad.filter((text) => matchesFormat(format, text)),
      [],
      'accepted',
    );
  });

it('a format is known with and without hyphens, and an unknown one is not checked', () => {
  assert.equal(matchesFormat('datetime', 'x'), false);
  assert.equal(matchesFormat('k8slongname', 'A'), false);
  assert.equal(matchesFormat('odd', 'x'), true);
});
