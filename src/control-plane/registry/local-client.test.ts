import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { ApiClient, WatchEvent } from '../../api/client/api-client.ts';
import { configMaps } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { AuthorizationAttributes } from '../model/user-info.ts';
import { DefinitionIndex } from './definition-index.ts';
import { createLocalClient } from './local-client.ts';
import { gadgets, startRegistry, widgets } from './testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';

const { type } = widgets;
const key = { namespace: 'default', name: 'a' };
const newWidget = (name: string, size = 1): Widget => ({
  metadata: { name, namespace: 'default', uid: '' },
  spec: { size },
});

describe('the API client for callers in this process', () => {
  let fixture: RegistryFixture;
  let client: ApiClient;
  let asked: AuthorizationAttributes[];
  let mayNot: string | undefined;

  beforeEach(async () => {
    fixture = await startRegistry();
    [asked, mayNot] = [[], undefined];
    client = createLocalClient({
      registry: fixture.registry,
      // The fixture has these types.
      definitions: new DefinitionIndex([widgets, gadgets] as unknown as ResourceDefinition[]),
      user: { name: 'system:serviceaccount:kube-system:x', groups: [] },
      fieldManager: 'manager',
      authorize: (attributes) => {
        asked.push(attributes);
        return attributes.verb === mayNot
          ? { decision: 'noOpinion', reason: 'no role' }
          : { decision: 'allow', reason: '' };
      },
    });
  });
  afterEach(() => fixture.stop());

  it('every verb is authorized like the same request from outside', async () => {
    const made = await client.create(type, newWidget('a'));
    await client.get(type, key);
    await client.list(type, 'default');
    await client.update(type, { ...made, status: { seen: 1 } }, { subresource: 'status' });
    await client.patch(type, key, { type: 'merge', body: { spec: { size: 2 } } });
    await client.post(type, key, 'fit', { metadata: { name: 'a' }, spec: { size: 9 } });
    await client.delete(type, key);
    assert.deepEqual(
      asked.map(({ verb, apiGroup, resource, subresource, namespace, name }) =>
        [verb, `${resource}.${apiGroup}`, subresource, namespace, name].join(' '),
      ),
      [
        'create widgets.test.io  default ',
        'get widgets.test.io  default a',
        'list widgets.test.io  default ',
        'update widgets.test.io status default a',
        'patch widgets.test.io  default a',
        'create widgets.test.io fit default a',
        'delete widgets.test.io  default a',
      ],
    );
  });

  it('an unauthorized request is rejected before it has an effect', async () => {
    mayNot = 'create';
    const message =
      'widgets.test.io is forbidden: User "system:serviceaccount:kube-system:x" cannot create resource "widgets" in API group "test.io" in the namespace "default": no role';
    await assert.rejects(
      client.create(type, newWidget('a')),
      (error) => isApiError(error, 'Forbidden') && error.message === message,
    );
    assert.deepEqual((await client.list(type, '')).items, []);
    mayNot = 'watch';
    await assert.rejects(
      async () => {
        for await (const _ of client.watch(type, '', { resourceVersion: '0' }, new AbortController().signal))
          assert.fail('an event');
      },
      (error) => isApiError(error, 'Forbidden'),
    );
  });

  it('a kind that is not served causes NotFound', async () => {
    await assert.rejects(client.get(configMaps, key), (error) => isApiError(error, 'NotFound'));
  });

  it('unknown fields are rejected, and the caller is the field manager unless it names another', async () => {
    await assert.rejects(client.create(type, { ...newWidget('a'), more: 1 } as Widget), (error) =>
      isApiError(error, 'BadRequest'),
    );
    await client.create(type, newWidget('a'));
    const patched = await client.patch(
      type,
      key,
      { type: 'apply', body: { metadata: { name: 'a' }, spec: { notes: { b: 'c' } } } },
      { fieldManager: 'other' },
    );
    assert.deepEqual(
      patched.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`).sort(),
      ['manager Update', 'other Apply'],
    );
  });

  it('a dry run writes nothing', async () => {
    assert.equal((await client.create(type, newWidget('a'), { dryRun: true })).metadata.name, 'a');
    assert.deepEqual((await client.list(type, '')).items, []);
  });

  it('lists are returned in pages', async () => {
    for (const name of ['a', 'b', 'c']) await client.create(type, newWidget(name));
    const first = await client.list(type, 'default', { limit: 2 });
    const second = await client.list(type, 'default', { limit: 2, continue: first.continue ?? '' });
    assert.deepEqual(
      [first, second].map(({ items }) => items.map(({ metadata }) => metadata.name)),
      [['a', 'b'], ['c']],
    );
    assert.deepEqual([second.continue, first.resourceVersion], [undefined, second.resourceVersion]);
  });

  it('a watch delivers creations, changes and deletions until it is aborted', async () => {
    const { resourceVersion } = await client.list(type, 'default');
    const controller = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of client.watch(type, 'default', { resourceVersion }, controller.signal)) {
        seen.push(word(event));
        if (event.type === 'DELETED') controller.abort();
      }
    })();
    const made = await client.create(type, newWidget('a'));
    await client.update(type, { ...made, spec: { size: 5 } });
    await client.delete(type, key);
    await watching;
    assert.deepEqual(seen, ['ADDED 1', 'MODIFIED 5', 'DELETED 5']);
  });
});

function word(event: WatchEvent<Widget>): string {
  return 'object' in event ? `${event.type} ${event.object.spec.size}` : event.type;
}
