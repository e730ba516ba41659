import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StorageVersionMigration } from '../../../api/storagemigration/storage-version-migration.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const spec = { resource: { group: 'apps', resource: 'deployments' } };
const migrations = new RulesFixture<StorageVersionMigration>(
  'storagemigration.k8s.io/v1beta1',
  'StorageVersionMigration',
  { spec },
);
const condition = (type: string, status = 'True'): object => ({
  type,
  status,
  reason: 'Because',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

test('a new migration has no status, and names a resource that can exist', () => {
  assert.deepEqual(migrations.created({ status: { resourceVersion: '7' } }).status, {});
  assert.deepEqual(migrations.refusals(), []);
  assert.deepEqual(migrations.refusals({ 'spec.resource': { group: '', resource: 'pods' } }), []);
  for (const [path, value, why] of [
    ['spec.resource.resource', '', /Required value: resource is required to be set/],
    ['spec.resource.resource', 'x.y', /DNS-1035/],
    ['spec.resource.group', 'A_b', /RFC 1123/],
  ] as const) {
    const [refusal = '', ...more] = migrations.refusals({ [path]: value });
    assert.match(refusal, why);
    assert.deepEqual(more, []);
  }
});

test('the migrated resource is immutable', () => {
  assert.deepEqual(migrations.updateRefusals({ 'spec.resource.resource': 'pods' }), [
    'spec: Invalid value: {"Resource":{"group":"apps","resource":"pods"}}: field is immutable',
  ]);
});

test('a verdict and the version of the beginning stay', () => {
  const done = { conditions: [condition('Running', 'False'), condition('Succeeded')], resourceVersion: '7' };
  const refusals = (status: object, old: object = {}): readonly string[] =>
    migrations.statusRefusals(status, old).map((each) => each.replace(/\[\{.*\}\]/, '[...]'));
  assert.deepEqual(refusals(done), []);
  assert.deepEqual(refusals(done, done), []);
  assert.deepEqual(refusals({ ...done, resourceVersion: '8' }, done), [
    'status.resourceVersion: Invalid value: "8": field is immutable',
  ]);
  assert.deepEqual(refusals({ ...done, conditions: [condition('Succeeded', 'False')] }, done), [
    'status.conditions: Invalid value: [...]: Success condition cannot be set to false once it is true',
  ]);
  assert.deepEqual(refusals({ conditions: [] }, { conditions: [condition('Failed')] }), [
    'status.conditions: Invalid value: []: Failed condition cannot be set to false once it is true',
  ]);
  assert.deepEqual(refusals({ conditions: [condition('Succeeded'), condition('Failed')] }), [
    'status.conditions: Invalid value: [...]: Both success and failed conditions cannot be true at the same time',
  ]);
  for (const resourceVersion of ['0', '07', '-1', 'x', '1 '])
    assert.match(refusals({ resourceVersion })[0] ?? '', /resource version is not well formed/);
  assert.deepEqual(refusals({ resourceVersion: '9007199254740993123' }), []);
});

test('the table shows what is migrated and the last verdict', () => {
  assert.deepEqual(migrations.cells(), { Resource: 'deployments.apps', Status: 'Unknown' });
  const conditions = [condition('Running', 'False'), condition('Succeeded'), condition('Odd')];
  assert.deepEqual(migrations.cells({ 'spec.resource': { group: '', resource: 'pods' }, status: { conditions } }), {
    Resource: 'pods',
    Status: 'Succeeded',
  });
});
