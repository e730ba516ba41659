import assert from 'node:assert/strict';
import test from 'node:test';
import type { Initializers } from '../core/initializers.ts';
import type { FieldError } from './field-error.ts';
import {
  validateInitializerConfiguration,
  validateInitializers,
  validateInitializersUpdate,
} from './validate-initializers.ts';

const texts = (errors: readonly FieldError[]): string[] => errors.map(({ field, message }) => `${field}: ${message}`);
const failure = (message: string): Initializers => ({ result: { status: 'Failure', message } });
const pending: Initializers = { pending: [{ name: 'a.example.com' }] };

test('a pending initializer has a full name, and a result is a failure', () => {
  assert.deepEqual(validateInitializers(undefined), []);
  assert.deepEqual(validateInitializers({ ...pending, ...failure('no') }), []);
  assert.deepEqual(texts(validateInitializers({ pending: [{ name: 'short' }], result: { status: 'Success' } })), [
    'metadata.initializers.pending[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots',
    `metadata.initializers.result.status: Invalid value: "Success": must be 'Failure'`,
  ]);
});

test('initialization happens once, and its result is final', () => {
  assert.deepEqual(validateInitializersUpdate(undefined, pending), []);
  assert.deepEqual(validateInitializersUpdate({ ...pending, ...failure('no') }, pending), []);
  assert.deepEqual(texts(validateInitializersUpdate(pending, undefined)), [
    'metadata.initializers: Invalid value: null: field is immutable once initialization has completed',
  ]);
  assert.deepEqual(texts(validateInitializersUpdate(failure('yes'), failure('no'))), [
    'metadata.initializers.result: Invalid value: {"status":"Failure","message":"yes"}: field is immutable',
  ]);
});

test('rules of a configuration are as those of webhooks, without operations and subresources', () => {
  const configuration = (name: string, resources: string[]) => ({
    metadata: { name: 'a', namespace: '', uid: '' },
    initializers: [{ name, rules: [{ apiGroups: [''], apiVersions: ['v1'], resources }] }],
  });
  assert.deepEqual(validateInitializerConfiguration(configuration('podimage.example.com', ['pods'])), []);
  assert.deepEqual(texts(validateInitializerConfiguration(configuration('', ['pods/status', '']))), [
    'initializers[0].name: Required value',
    'initializers[0].rules[0].resources[1]: Required value',
    'initializers[0].rules[0].resources[0]: Invalid value: "pods/status": must not specify subresources',
  ]);
});
