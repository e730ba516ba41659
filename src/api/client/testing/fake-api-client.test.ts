import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import { isApiError } from '../../status/api-status-error.ts';
import type { StatusReason } from '../../status/api-status-error.ts';
import { configMaps, pods } from '../resource-types.ts';
import { FakeApiClient } from './fake-api-client.ts';

const web = { namespace: 'default', name: 'web' };
const refuses = async (reason: StatusReason, call: Promise<unknown>): Promise<void> =>
  assert.rejects(call, (error) => isApiError(error, reason));

it('gives names, uids and versions, and refuses what was made from an older one', async () => {
  const api = new FakeApiClient({ clock: new FakeClock() });
  const first = await api.create(configMaps, {
    metadata: { name: '', generateName: 'x-', namespace: 'default', uid: '' },
  });
  assert.match(first.metadata.name, /^x-[a-z0-9]{5}$/);
  const second = await api.update(configMaps, { ...first, data: { a: 'b' } });
  assert.ok(Number(second.metadata.resourceVersion) > Number(first.metadata.resourceVersion));
  await refuses('Conflict', api.update(configMaps, { ...first, data: { a: 'c' } }));
  await refuses('AlreadyExists', api.create(configMaps, first));
  await refuses('NotFound', api.get(configMaps, { namespace: 'default', name: 'none' }));
  await refuses(
    'Conflict',
    api.patch(
      configMaps,
      { namespace: 'default', name: first.metadata.name },
      { type: 'merge', body: { metadata: { uid: 'other' } } },
    ),
  );
  assert.throws(() => ((second as { data?: unknown }).data = {}), TypeError);
});

it('keeps status and spec separate, and increases the generation only with the spec', async () => {
  const api = new FakeApiClient({ clock: new FakeClock() });
  const pod = await api.create(pods, buildPod({ 'status.phase': 'Running' }));
  assert.equal(pod.status, undefined);
  const running = await api.update(
    pods,
    { ...pod, spec: { containers: [] }, status: { phase: 'Running' } },
    { subresource: 'status' },
  );
  assert.deepEqual(
    [running.status?.phase, running.spec.containers.length, running.metadata.generation],
    ['Running', 1, 1],
  );
  const changed = await api.update(pods, {
    ...running,
    spec: { ...running.spec, activeDeadlineSeconds: 5 },
    status: {},
  });
  assert.deepEqual([changed.status?.phase, changed.metadata.generation], ['Running', 2]);
});

it('lets a pod of a node stay for its grace, one of no node not; finalizers hold an object until they are gone', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  await api.create(pods, buildPod());
  await api.delete(pods, web);
  assert.equal(api.peek(pods, web), undefined);
  await api.create(pods, buildPod({ 'spec.nodeName': 'n', 'metadata.finalizers': ['a/b'] }));
  await api.delete(pods, web);
  assert.equal(api.peek(pods, web)?.metadata.deletionGracePeriodSeconds, 30);
  await api.delete(pods, web, { gracePeriodSeconds: 0 });
  assert.deepEqual(api.peek(pods, web)?.metadata.finalizers, ['a/b']);
  await api.patch(pods, web, {
    type: 'strategic',
    body: { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/b'] } },
  });
  assert.equal(api.peek(pods, web), undefined);
});

it('binds a pod once', async () => {
  const api = new FakeApiClient({ clock: new FakeClock() });
  await api.create(pods, buildPod());
  await api.post(pods, web, 'binding', { target: { name: 'node-1' } });
  assert.equal(api.peek(pods, web)?.spec.nodeName, 'node-1');
  await refuses('Conflict', api.post(pods, web, 'binding', { target: { name: 'node-2' } }));
});
