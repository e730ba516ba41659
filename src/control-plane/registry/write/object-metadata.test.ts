import assert from 'node:assert/strict';
import test from 'node:test';
import type { ObjectMeta } from '../../../api/core/meta.ts';
import { formatFieldError } from '../../../api/validation/field-error.ts';
import { checkDnsLabel } from '../../../api/validation/names.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { widgets } from '../testing/registry-fixture.ts';
import { validateMetadata } from './object-metadata.ts';

const labelled = {
  ...widgets,
  rules: { ...widgets.rules, validateName: checkDnsLabel },
} as unknown as ResourceDefinition;
const meta = (changes: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name: 'Old.Name',
  namespace: 'default',
  uid: 'u',
  ...changes,
});
const complaints = (now: ObjectMeta, old?: ObjectMeta): string[] =>
  validateMetadata(labelled, now, old).map(formatFieldError);

test("a new object's name must be valid for its kind; an existing one must only be valid in a path", () => {
  assert.match(
    complaints(meta()).join(),
    /^metadata\.name: Invalid value: "Old\.Name": a lowercase RFC 1123 label must consist of/,
  );
  assert.deepEqual(complaints(meta({ labels: { touched: 'yes' } }), meta()), []);
  assert.deepEqual(complaints(meta({ name: 'a/b' }), meta({ name: 'a/b' })), [
    `metadata.name: Invalid value: "a/b": may not contain '/'`,
  ]);
});

test('a finalizer without a domain may stay, but not be added', () => {
  const held = meta({ name: 'a', finalizers: ['nameless'] });
  assert.deepEqual(complaints(held, held), []);
  assert.equal(complaints(held, meta({ name: 'a' })).length, 1);
  assert.equal(complaints(held).length, 1);
});
