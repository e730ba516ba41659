import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesRequirement } from './label-requirement.ts';
import { formatFieldSelector, formatLabelSelector, parseFieldSelector, parseLabelSelector } from './selectors.ts';
import type { Requirement } from './label-requirement.ts';

const requirement = (key: string, operator: Requirement['operator'], ...values: string[]): Requirement => ({
  key,
  operator,
  values,
});

for (const [text, parsed] of [
  ['', []],
  ['  ', []],
  ['a=b', [requirement('a', 'In', 'b')]],
  ['a == b', [requirement('a', 'In', 'b')]],
  ['a!=b', [requirement('a', 'NotIn', 'b')]],
  ['a=', [requirement('a', 'In', '')]],
  ['a!=,b', [requirement('a', 'NotIn', ''), requirement('b', 'Exists')]],
  ['! a', [requirement('a', 'DoesNotExist')]],
  ['x.io/a', [requirement('x.io/a', 'Exists')]],
  ['a in (x,y)', [requirement('a', 'In', 'x', 'y')]],
  ['a in(y, x,y)', [requirement('a', 'In', 'x', 'y')]],
  ['a notin (x)', [requirement('a', 'NotIn', 'x')]],
  ['a in ()', [requirement('a', 'In', '')]],
  ['a in (,)', [requirement('a', 'In', '')]],
  ['a in (x,)', [requirement('a', 'In', '', 'x')]],
  ['a in (in,notin)', [requirement('a', 'In', 'in', 'notin')]],
  ['in,notin=in', [requirement('in', 'Exists'), requirement('notin', 'In', 'in')]],
  ['a>5,b<1', [requirement('a', 'Gt', '5'), requirement('b', 'Lt', '1')]],
  ['z,a', [requirement('a', 'Exists'), requirement('z', 'Exists')]],
] as const) {
  test(`the label selector "${text}" is read`, () => {
    assert.deepEqual(parseLabelSelector(text), parsed);
  });
}

const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
for (const [text, problem] of [
  ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ['=a', "found '=', expected: !, identifier, or 'end of string'"],
  ['a,', "found '', expected: identifier after ','"],
  [',a', "found ',', expected: !, identifier, or 'end of string'"],
  ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ['!a=b', "found '=', expected: ',' or 'end of string'"],
  ['!!a', "unable to parse requirement: found '!', expected: identifier"],
  ['a==!b', "unable to parse requirement: found '!', expected: identifier"],
  ['a===b', "unable to parse requirement: found '=', expected: identifier"],
  ['a in x', "unable to parse requirement: found 'x' expected: '('"],
  ['a in (x', "unable to parse requirement: found '', expected: ',' or ')'"],
  ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
  ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
  ['a in (x,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
  ['-a=b', `unable to parse requirement: <nil>: Invalid value: "-a": ${name}`],
  ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${value}`],
  ['a in (x,-b)', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${value}`],
  [
    'a>b',
    `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
  ],
  [
    'a>9223372036854775808',
    `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": for 'Gt', 'Lt' operators, the value must be an integer`,
  ],
] as const) {
  test(`the label selector "${text}" is refused in the API server's words`, () => {
    assert.equal(parseLabelSelector(text), problem);
  });
}

const names = fc.constantFrom('a', 'b', 'in', 'notin', 'x.io/c', 'A_b.c-1');
const values = fc.constantFrom('', 'x', 'in', '1', 'v_1.2-z');
const anyRequirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc
    .tuple(names, fc.constantFrom('In' as const, 'NotIn' as const), fc.uniqueArray(values, { minLength: 1 }))
    .map(([key, operator, list]) => requirement(key, operator, ...list.sort())),
  fc
    .tuple(names, fc.constantFrom('Exists' as const, 'DoesNotExist' as const))
    .map(([key, operator]) => requirement(key, operator)),
  fc
    .tuple(names, fc.constantFrom('Gt' as const, 'Lt' as const), fc.nat())
    .map(([key, operator, bound]) => requirement(key, operator, String(bound))),
);

test('requirements written as a selector are read as they were', () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyRequirement, { selector: ({ key }) => key }), (requirements) => {
      const sorted = [...requirements].sort((left, right) => (left.key < right.key ? -1 : 1));
      assert.deepEqual(parseLabelSelector(formatLabelSelector(requirements)), sorted);
    }),
  );
});

test('any text is either read or refused, and what is read means the same again', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', '=', '==', '!', '!=', 'in', 'notin', '(', ')', ',', ' ', '>', '<', '1'), {
        maxLength: 12,
      }),
      (parts) => {
        const parsed = parseLabelSelector(parts.join(''));
        if (typeof parsed === 'string') return;
        assert.deepEqual(parseLabelSelector(formatLabelSelector(parsed)), parsed);
        for (const each of parsed) assert.equal(typeof matchesRequirement(each, { a: '1' }), 'boolean');
      },
    ),
  );
});

for (const [text, parsed] of [
  ['', []],
  ['metadata.name=a', [{ field: 'metadata.name', equal: true, value: 'a' }]],
  ['metadata.name==a', [{ field: 'metadata.name', equal: true, value: 'a' }]],
  ['status.phase!=Running', [{ field: 'status.phase', equal: false, value: 'Running' }]],
  [
    'b=1,,a=2,',
    [
      { field: 'a', equal: true, value: '2' },
      { field: 'b', equal: true, value: '1' },
    ],
  ],
  ['a=', [{ field: 'a', equal: true, value: '' }]],
  ['a=x\\,y\\=z\\\\', [{ field: 'a', equal: true, value: 'x,y=z\\' }]],
  ['a= b ', [{ field: 'a', equal: true, value: ' b ' }]],
] as const) {
  test(`the field selector "${text}" is read`, () => {
    assert.deepEqual(parseFieldSelector(text), parsed);
  });
}

for (const [text, problem] of [
  ['spec.nodeName', "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"],
  ['a=1,b', "invalid selector: 'a=1,b'; can't understand 'b'"],
  ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
  ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
  ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
] as const) {
  test(`the field selector "${text}" is refused in the API server's words`, () => {
    assert.equal(parseFieldSelector(text), problem);
  });
}

test('field requirements written as a selector are read as they were', () => {
  const field = fc.constantFrom('metadata.name', 'spec.nodeName', 'status.phase', 'involvedObject.fieldPath');
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.record({ field, equal: fc.boolean(), value: fc.string() }, { noNullPrototype: true }), {
        selector: (each) => each.field,
      }),
      (requirements) => {
        const parsed = parseFieldSelector(formatFieldSelector(requirements));
        assert.ok(typeof parsed !== 'string');
        assert.deepEqual(new Set(parsed), new Set(requirements));
      },
    ),
  );
});
