import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../../resources/all.ts';
import { kindsOf, parseStorageOverrides } from './storage-overrides.ts';

function errorsOf(...items: string[]): readonly string[] {
  const errors: string[] = [];
  parseStorageOverrides(items, allResources, errors);
  return errors;
}

test('an override maps a resource to its etcd servers', () => {
  const errors: string[] = [];
  const read = parseStorageOverrides(
    ['/events#http://b:2379;https://c:2379', 'apps/deployments#http://d:2379'],
    allResources,
    errors,
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(read, [
    { group: '', resource: 'events', servers: ['http://b:2379', 'https://c:2379'] },
    { group: 'apps', resource: 'deployments', servers: ['http://d:2379'] },
  ]);
});

test('an unknown resource, an invalid server and a duplicate resource are rejected', () => {
  assert.deepEqual(errorsOf('events', '/thing#http://b', '/pods#b:2379', '/pods#http://b'), [
    '--etcd-servers-overrides: "events" is not of the form GROUP/RESOURCE#URL;URL',
    '--etcd-servers-overrides: thing: this server stores no such resource',
    '--etcd-servers-overrides: pods: "b:2379" is not a URL of an etcd server, such as http://10.0.0.2:2379',
    '--etcd-servers-overrides: pods is named twice',
  ]);
  assert.match(errorsOf('authentication.k8s.io/tokenreviews#http://b')[0] ?? '', /stores no such resource/);
  assert.match(
    errorsOf('apiextensions.k8s.io/customresourcedefinitions#http://b')[0] ?? '',
    /definitions stay in the etcd of --etcd-servers/,
  );
});

test('kinds that share a place go together', () => {
  const names = (group: string, resource: string): string[] =>
    kindsOf({ group, resource }, allResources).map(({ type }) => `${type.plural}.${type.version}.${type.group}`);
  assert.deepEqual(names('', 'events'), ['events.v1.', 'events.v1.events.k8s.io']);
  assert.deepEqual(names('events.k8s.io', 'events'), names('', 'events'));
  assert.equal(names('autoscaling', 'horizontalpodautoscalers').length, 2);
  assert.deepEqual(names('', 'pods'), ['pods.v1.']);
});
