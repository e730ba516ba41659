import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, field, filled, inline, int32, object, pointer, required, string } from '../schema/schema.ts';
import { decode } from '../schema/decode.ts';
import { planMessage } from './message-plan.ts';

const Spec = object('Spec', {
  name: required(1, string),
  ...inline(2, { path: field(4, string), ...inline(7, { size: pointer(3, int32) }) }),
  hidden: string,
  tags: filled(5, array(string)),
});

test('fields are found by their numbers, those of inlined messages below the number of the message', () => {
  const plan = planMessage(Spec);
  assert.deepEqual([...(plan?.keys() ?? [])], [1, 2, 5]);
  const inner = plan?.get(2) as ReadonlyMap<number, unknown>;
  assert.deepEqual([...inner.keys()], [4, 7]);
  assert.deepEqual((inner.get(7) as ReadonlyMap<number, unknown>).get(3), {
    name: 'size',
    schema: int32,
    keepsZero: true,
  });
});

test('a zero is kept by pointers and by what is always there', () => {
  const keeps = Object.fromEntries(Object.entries(Spec.fields).map(([name, { keepsZero }]) => [name, keepsZero]));
  assert.deepEqual(keeps, { name: true, path: false, size: true, hidden: false, tags: true });
});

test('optional fields have their zero value after decoding', () => {
  assert.deepEqual(decode(Spec, { size: 0 }).value, { name: '', size: 0, tags: [] });
  assert.deepEqual(
    Object.entries(Spec.fields).filter(([, { mustBeWritten }]) => mustBeWritten),
    [['name', Spec.fields.name]],
  );
});

test('a type without numbers has no protobuf form', () => {
  assert.equal(planMessage(object('Plain', { name: string })), undefined);
});
