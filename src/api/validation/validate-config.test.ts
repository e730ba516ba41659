import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap } from '../core/config-map.ts';
import type { Secret } from '../core/secret.ts';
import { formatFieldError, formatInvalid } from './field-error.ts';
import { validateConfigMap, validateSecret } from './validate-config.ts';

const metadata = { name: 'c', namespace: 'default', uid: '' };
const ofConfigMap = (more: Partial<ConfigMap>): string[] =>
  validateConfigMap({ metadata, ...more }).map(formatFieldError);
const ofSecret = (more: Partial<Secret>): string[] => validateSecret({ metadata, ...more }).map(formatFieldError);

test('keys have valid names, and no key is in both data and binaryData', () => {
  assert.deepEqual(ofConfigMap({ data: { a: 'b' }, binaryData: { b: 'YQ==' } }), []);
  assert.deepEqual(ofConfigMap({ data: { '..': 'x' } }), ['data[..]: Invalid value: "..": must not be \'..\'']);
  assert.deepEqual(ofConfigMap({ data: { a: 'b' }, binaryData: { a: '' } }), [
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ]);
});

test('more than one MiB is too long', () => {
  const errors = validateConfigMap({ metadata, data: { a: 'x'.repeat(1024 * 1024 + 1) } });
  assert.equal(
    formatInvalid('ConfigMap', 'c', errors),
    'ConfigMap "c" is invalid: []: Too long: may not be more than 1048576 bytes',
  );
  assert.deepEqual(ofSecret({ data: { a: Buffer.alloc(1024 * 1024 + 1).toString('base64') } }), [
    'data: Too long: may not be more than 1048576 bytes',
  ]);
  assert.deepEqual(ofSecret({ data: { a: Buffer.alloc(1024 * 1024).toString('base64') } }), []);
});

test('secrets of a known type must hold what the type promises', () => {
  assert.deepEqual(ofSecret({ type: 'kubernetes.io/tls' }), [
    'data[tls.crt]: Required value',
    'data[tls.key]: Required value',
  ]);
  assert.deepEqual(ofSecret({ type: 'kubernetes.io/basic-auth' }), [
    'data[username]: Required value',
    'data[password]: Required value',
  ]);
  assert.deepEqual(ofSecret({ type: 'kubernetes.io/ssh-auth' }), ['data[ssh-privatekey]: Required value']);
  assert.deepEqual(ofSecret({ type: 'kubernetes.io/service-account-token' }), [
    'metadata.annotations[kubernetes.io/service-account.name]: Required value',
  ]);
  assert.deepEqual(
    ofSecret({
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{').toString('base64') },
    }),
    ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be a JSON object'],
  );
  assert.deepEqual(
    ofSecret({
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{}').toString('base64') },
    }),
    [],
  );
});
