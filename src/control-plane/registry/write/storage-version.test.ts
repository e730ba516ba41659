import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { startRegistry, widgets } from '../testing/registry-fixture.ts';

const type = { group: 'late.io', version: '', kind: 'Late', plural: 'lates', namespaced: true };
const place: ResourceDefinition = {
  ...(widgets as unknown as ResourceDefinition),
  type,
  isInternal: true,
  storagePath: 'late.io/lates',
};
/** Returns the kind in version v1, whose objects are stored in another version. */
const served = (storage: string): typeof widgets => {
  const inVersion = (version: string) => (object: ApiObject) => ({ ...object, apiVersion: `late.io/${version}` });
  return {
    ...widgets,
    type: { ...type, version: 'v1' },
    storagePath: place.storagePath,
    storedAs: {
      stored: type,
      version: storage,
      toStored: inVersion(storage),
      fromStored: (object) => inVersion('v1')(object) as never,
    },
  };
};

test('a write without changes converts an object to the storage version, once', async () => {
  const fixture = await startRegistry();
  const { definitions, cache, registry, request } = fixture;
  const [before, after] = [served('v1'), served('v2')];
  const any = (definition: typeof widgets): ResourceDefinition => definition as unknown as ResourceDefinition;
  definitions.change({ removed: [], added: [place, any(before)] });
  const { metadata } = await fixture.create({ name: 'a' }, before);
  const stored = (): string | undefined => cache.kind(place).objects.get('default/a')?.object.apiVersion;
  const write = async (definition: typeof widgets): Promise<string | undefined> => {
    const { object } = await registry.get(request(definition, 'a'), {});
    const written = await registry.update(request(definition, 'a'), { value: object, duplicates: [] });
    return written.object.metadata.resourceVersion;
  };
  assert.deepEqual([await write(before), stored()], [metadata.resourceVersion, 'late.io/v1']);
  definitions.change({ removed: [any(before)], added: [any(after)] });
  const migrated = await write(after);
  assert.notEqual(migrated, metadata.resourceVersion);
  assert.deepEqual([stored(), await write(after)], ['late.io/v2', migrated]);
  await fixture.stop();
});

test('a kind whose definition is being deleted takes no new objects, and changes those it has', async () => {
  const fixture = await startRegistry();
  const { definitions, registry, request } = fixture;
  const any = (definition: typeof widgets): ResourceDefinition => definition as unknown as ResourceDefinition;
  const why = 'create not allowed while custom resource definition is terminating';
  const before = served('v1');
  const ending: typeof widgets = { ...before, refusesCreation: why };
  definitions.change({ removed: [], added: [place, any(before)] });
  await fixture.create({ name: 'a' }, before);
  definitions.change({ removed: [any(before)], added: [any(ending)] });
  const isRefused = (error: unknown): boolean =>
    isApiError(error, 'Forbidden') && error.message === `lates.late.io "b" is forbidden: ${why}`;
  await assert.rejects(fixture.create({ name: 'b' }, ending), isRefused);
  const config = { apiVersion: 'late.io/v1', kind: 'Late', metadata: { name: 'b' } };
  await assert.rejects(
    registry.patch(request(ending, 'b'), { value: config, duplicates: [], type: 'apply' }),
    isRefused,
  );
  const labels = { x: 'y' };
  const patch = { value: { metadata: { labels } }, duplicates: [], type: 'merge' as const };
  const { object } = await registry.patch(request(ending, 'a'), patch);
  assert.deepEqual(object.metadata.labels, labels);
  await registry.delete(request(ending, 'a'), {});
  await assert.rejects(registry.get(request(ending, 'a'), {}), (error) => isApiError(error, 'NotFound'));
  await fixture.stop();
});
