import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PodSchema } from '../core/pod.ts';
import { SecretSchema } from '../core/secret.ts';
import { decode, decodeAny, formatDecodeError, formatStrictErrors } from './decode.ts';
import {
  array,
  boolean,
  bytes,
  double,
  duration,
  int32,
  int64,
  intOrString,
  map,
  object,
  opaque,
  quantity,
  required,
  string,
  time,
} from './schema.ts';
import type { Schema } from './schema.ts';

const Everything = object('Everything', {
  name: required(string),
  data: bytes,
  at: time,
  every: duration,
  small: int32,
  big: int64,
  real: double,
  on: boolean,
  amount: quantity,
  port: intOrString,
  list: array(string),
  labels: map(string),
  inner: required(object('Inner', { count: required(int32) })),
  anything: opaque,
});
const complaints = (input: unknown): string[] => decode(Everything, input).errors.map(formatDecodeError);

test('a right value is copied, and required fields that are absent get their empty value', () => {
  const input = {
    data: 'YQ==',
    at: '2026-01-31T12:00:00Z',
    every: '1m',
    small: 1,
    real: 0.5,
    on: true,
    amount: 1.5,
    port: 'http',
    list: ['a'],
    labels: { a: 'b' },
    anything: { x: [1] },
    big: null,
  };
  const { value, errors } = decode(Everything, input);
  assert.deepEqual(errors, []);
  assert.deepEqual(value, {
    data: 'YQ==',
    at: '2026-01-31T12:00:00Z',
    every: '1m',
    small: 1,
    real: 0.5,
    on: true,
    amount: '1500m',
    port: 'http',
    list: ['a'],
    labels: { a: 'b' },
    anything: { x: [1] },
    name: '',
    inner: { count: 0 },
  });
});

test('each wrong value is named with its path, what was found and what is accepted', () => {
  assert.deepEqual(
    complaints({
      name: 5,
      data: '%%',
      at: 'noon',
      every: '5',
      small: 2 ** 31,
      big: 1.5,
      real: 'x',
      on: 'yes',
      amount: '1 Gi',
      port: true,
      list: 'a',
      labels: { a: 1 },
      inner: [],
    }),
    [
      'name: expected a string, found the number 5; put it in quotes',
      'data: expected base64 text, found the string "%%"',
      'at: expected a time such as 2026-01-31T12:00:00Z, found the string "noon"',
      'every: expected a duration such as 1m30s, found the string "5"',
      'small: 2147483648 does not fit; accepted is -2147483648 to 2147483647',
      'big: expected a whole number, found the number 1.5',
      'real: expected a number, found the string "x"',
      'on: expected true or false, found the string "yes"',
      `amount: expected a quantity such as 500m, 1.5 or 64Mi, found the string "1 Gi": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
      'port: expected a whole number or a string, found true',
      'list: expected a list, found the string "a"',
      'labels[a]: expected a string, found the number 1; put it in quotes',
      'inner: expected an object (Inner), found a list',
    ],
  );
});

test('a null in a list of numbers is no 0', () => {
  const { errors } = decode(PodSchema, {
    spec: { containers: [], securityContext: { supplementalGroups: [5, null], runAsUser: null } },
  });
  assert.equal(
    formatStrictErrors(errors),
    'strict decoding error: spec.securityContext.supplementalGroups[1]: expected a whole number, found null',
  );
});

test('unknown fields are errors in strict mode, in upstream words with a guess at what was meant', () => {
  const { errors } = decode(PodSchema, { spec: { containers: [{ name: 'a', imagePullpolicy: 'Never', zzzzzz: 1 }] } });
  assert.equal(
    formatStrictErrors(errors),
    'strict decoding error: unknown field "spec.containers[0].imagePullpolicy"; did you mean "imagePullPolicy"?, unknown field "spec.containers[0].zzzzzz"',
  );
});

test('unknown fields are warnings in lenient mode', () => {
  const { errors, warnings } = decode(PodSchema, { spec: { newField: 1 } }, { mode: 'lenient' });
  assert.deepEqual([errors.length, warnings.map(formatDecodeError)], [0, ['unknown field "spec.newField"']]);
});

test('a flood of problems is cut off', () => {
  const { errors } = decode(
    Everything,
    Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}x`, 1])),
    { maxProblems: 10 },
  );
  assert.equal(errors.length, 11);
  assert.match(errors.at(-1)?.message ?? '', /more than 10 problems/);
});

test('a key named __proto__ is data like any other', () => {
  const { value } = decode(
    SecretSchema,
    JSON.parse('{"data":{"__proto__":"YQ=="},"metadata":{"labels":{"__proto__":"x"}}}'),
  );
  assert.equal(Object.getOwnPropertyDescriptor(value.data, '__proto__')?.value, 'YQ==');
  assert.equal(Object.getPrototypeOf(value.data), Object.prototype);
});

test('decoding never throws, and what it accepts it accepts again unchanged', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true }), (input) => {
      const first = decode(PodSchema, input);
      const second = decode(PodSchema, first.value);
      assert.deepEqual(second.errors, []);
      assert.deepEqual(second.value, first.value);
    }),
  );
});

test('decoding never throws on objects that have the right names and wrong contents', () => {
  const names = [
    'metadata',
    'spec',
    'containers',
    'name',
    'image',
    'env',
    'resources',
    'limits',
    'cpu',
    'livenessProbe',
    'httpGet',
    'port',
    'volumes',
    'emptyDir',
    'status',
  ];
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.bigInt());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 6 }),
    ),
  }));
  fc.assert(fc.property(tree, (input) => void decode(PodSchema, input, { mode: 'lenient' })));
});

test('values are counted by what it takes to judge them, and the rest is not checked', () => {
  const problems = (schema: Schema, value: unknown): string[] =>
    decodeAny(schema, value, { maxValues: 100 }).errors.map(({ problem }) => problem);
  const wide = object('Wide', Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`f${index}`, string])));
  assert.deepEqual(
    [problems(array(string), Array(99).fill('')), problems(array(string), Array(101).fill(''))],
    [[], ['tooManyValues']],
  );
  assert.deepEqual(
    [problems(array(quantity), Array(33).fill('1')), problems(array(quantity), Array(35).fill('1'))],
    [[], ['tooManyValues']],
  );
  assert.deepEqual(
    [problems(array(wide), Array(24).fill({})), problems(array(wide), Array(26).fill({}))],
    [[], ['tooManyValues']],
  );
});
