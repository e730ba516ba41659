import assert from 'node:assert/strict';
import test from 'node:test';
import { componentStatuses } from '../../../api/client/resource-types.ts';
import { ComponentStatusSchema } from '../../../api/core/component-status.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Registry, ResourceRequest } from '../../registry/registry.ts';
import { componentRegistry } from './component-registry.ts';

const stored: Partial<Registry> = {};
const registry = componentRegistry(stored as Registry, [
  { name: 'etcd-0', check: () => Promise.resolve() },
  { name: 'scheduler', check: () => Promise.reject(new Error('not running')) },
]);
const nothing = { applyDefaults: <T>(object: T): T => object, validate: () => [], validateUpdate: () => [] };
const definition: ResourceDefinition = {
  type: componentStatuses,
  singular: 'componentstatus',
  schema: ComponentStatusSchema,
  storagePath: '',
  rules: nothing,
};
const request = (name: string): ResourceRequest => ({
  definition,
  namespace: '',
  name,
  subresource: '',
  context: {} as ResourceRequest['context'],
});

test('each component reports its health, and a selector chooses components', async () => {
  const all = await registry.list(request(''), {});
  assert.deepEqual(
    all.items.map(({ json }) => JSON.parse(json)),
    [
      {
        kind: 'ComponentStatus',
        apiVersion: 'v1',
        metadata: { name: 'etcd-0' },
        conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
      },
      {
        kind: 'ComponentStatus',
        apiVersion: 'v1',
        metadata: { name: 'scheduler' },
        conditions: [{ type: 'Healthy', status: 'False', error: 'not running' }],
      },
    ],
  );
  const some = await registry.list(request(''), { fieldSelector: 'metadata.name=scheduler' });
  assert.deepEqual(
    some.items.map(({ object }) => object.metadata.name),
    ['scheduler'],
  );
});

test('one component is found by its name, and unknown names are not', async () => {
  const { object } = await registry.get(request('scheduler'), {});
  assert.equal(object.metadata.name, 'scheduler');
  await assert.rejects(registry.get(request('x'), {}), (error) => isApiError(error, 'NotFound'));
});
