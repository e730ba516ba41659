import assert from 'node:assert/strict';
import test from 'node:test';
import { allDocs } from '../../api/all-docs.ts';
import { apiVersionOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { decodeAny } from '../../api/schema/decode.ts';
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { permissivePolicy } from '../../api/validation/cluster-policy.ts';
import { allResources } from './all.ts';

const nowMs = 0;

test('no two kinds share a path, a kind or a place in the store, but for both groups of events and versions of autoscalers', () => {
  const twice = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) < index);
  assert.deepEqual(twice(allResources.map(({ type }) => `${type.plural}.${apiVersionOf(type)}`)), []);
  assert.deepEqual(twice(allResources.map(({ type }) => `${apiVersionOf(type)}/${type.kind}`)), []);
  assert.deepEqual(
    twice(allResources.filter(({ review }) => review === undefined).map(({ storagePath }) => storagePath)),
    ['horizontalpodautoscalers', 'events'],
  );
});

test('a PUT creates what upstream lets it create, and asks for a version where upstream does', () => {
  const kindsWith = (rule: 'allowCreateOnUpdate' | 'requiresResourceVersion'): string[] =>
    [...new Set(allResources.filter(({ rules }) => rules[rule] === true).map(({ type }) => type.kind))].sort();
  assert.deepEqual(kindsWith('allowCreateOnUpdate'), [
    'ClusterRole',
    'ClusterRoleBinding',
    'Endpoints',
    'Event',
    'Lease',
    'LimitRange',
    'Role',
    'RoleBinding',
    'RuntimeClass',
    'Service',
  ]);
  assert.deepEqual(kindsWith('requiresResourceVersion'), [
    'APIService',
    'CSIDriver',
    'CSINode',
    'CSIStorageCapacity',
    'ClusterTrustBundle',
    'CustomResourceDefinition',
    'Lease',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionPolicyBinding',
    'MutatingWebhookConfiguration',
    'PodCertificateRequest',
    'PodDisruptionBudget',
    'RuntimeClass',
    'StorageVersionMigration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
    'VolumeAttachment',
  ]);
});

test('a stored kind has a status subresource exactly when its objects have a status', () => {
  const stored = allResources.filter(({ review }) => review === undefined);
  const differs = stored.filter(
    ({ schema, hasStatus }) => Object.hasOwn(schema.fields, 'status') !== (hasStatus === true),
  );
  assert.deepEqual(
    differs.map(({ type }) => type.kind),
    [],
  );
});

/** Adds all object types of a schema, by their fields. */
function addTypes(schema: Schema, types: Map<ObjectSchema['fields'], string>): void {
  if (schema.kind === 'array') return addTypes(schema.items, types);
  if (schema.kind === 'map') return addTypes(schema.values, types);
  if (schema.kind !== 'object' || types.has(schema.fields)) return;
  types.set(schema.fields, schema.name);
  for (const field of Object.values(schema.fields)) addTypes(field.schema, types);
}

test('every type that a kind is made of is described', () => {
  const types = new Map<ObjectSchema['fields'], string>();
  for (const { schema, views = [], actions = [] } of allResources)
    for (const each of [schema, ...[...views, ...actions].map((part) => part.schema)])
      if (each !== undefined) addTypes(each, types);
  const described = new Set(allDocs.map((docs) => docs.schema.fields));
  assert.deepEqual(
    [...types].filter(([fields]) => !described.has(fields)).map(([, name]) => name),
    [],
  );
});

for (const { type, schema, selectableFields, columns, rules, review } of allResources) {
  test(`an empty ${type.kind} of ${apiVersionOf(type)} can be defaulted, checked, selected and shown`, () => {
    // Decoded by its own schema.
    const empty = decodeAny(schema, {}).value as ApiObject;
    const defaulted = rules.applyDefaults(empty);
    assert.ok(Array.isArray(rules.validate(defaulted, permissivePolicy)));
    for (const value of Object.values(selectableFields?.(empty) ?? {})) assert.equal(typeof value, 'string');
    for (const { name, cell } of columns ?? [])
      assert.ok(
        ['string', 'number', 'boolean'].includes(typeof cell(empty, nowMs)),
        `${name} shows ${typeof cell(empty, nowMs)}`,
      );
    assert.equal(review === undefined || columns === undefined, true);
  });
}
