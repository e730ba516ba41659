import assert from 'node:assert/strict';
import test from 'node:test';
import { SecretSchema } from '../../api/core/secret.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { double, field, int64, object } from '../../api/schema/schema.ts';
import type { Schema } from '../../api/schema/schema.ts';
import { formatType } from '../../cel/types.ts';
import { typeOfKind } from './kind-types.ts';

/** Returns the type at a path; `[]` enters lists and maps. */
function typeAt(schema: Schema, path: string): string {
  let type = typeOfKind(schema);
  for (const step of path.split('.')) {
    const next = type.kind === 'object' ? type.field(step) : type.kind === 'list' ? type.element : undefined;
    if (next === undefined) return 'none';
    type = next;
  }
  return formatType(type);
}

test('expressions see the fields of built-in kinds with their types', () => {
  const expected = {
    'metadata.name': 'string',
    'metadata.labels': 'map(string, string)',
    'metadata.creationTimestamp': 'google.protobuf.Timestamp',
    'metadata.generation': 'int',
    'spec.hostNetwork': 'bool',
    'spec.containers.[].image': 'string',
    'spec.containers.[].resources.limits': 'map(string, string)',
    'spec.containers.[].livenessProbe.httpGet.port': 'dyn',
    'spec.nothing': 'none',
    'spec.toString': 'none',
  };
  for (const [path, type] of Object.entries(expected)) assert.equal(typeAt(PodSchema, path), type, path);
  assert.equal(typeAt(SecretSchema, 'data'), 'map(string, bytes)');
});

test('names that are words of the language may be escaped', () => {
  assert.equal(typeAt(PodSchema, 'metadata.__namespace__'), 'string');
  assert.equal(typeAt(PodSchema, 'metadata.namespace'), 'string');
});

test('numbers with a fraction are doubles', () => {
  const schema = object('T', { share: field(1, double), count: field(2, int64) });
  assert.deepEqual([typeAt(schema, 'share'), typeAt(schema, 'count')], ['double', 'int']);
});
