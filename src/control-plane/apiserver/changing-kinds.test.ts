import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { ServedResources } from './path/served-resource.ts';
import { startRegistry, widgets } from '../registry/testing/registry-fixture.ts';
import type { RegistryFixture } from '../registry/testing/registry-fixture.ts';

const late: typeof widgets = {
  ...widgets,
  type: { group: 'late.io', version: 'v1', kind: 'Late', plural: 'lates', namespaced: true },
  storagePath: 'late.io/lates',
};
const asAny = (definition: typeof widgets): ResourceDefinition => definition as unknown as ResourceDefinition;

async function watchEnd({ registry, request }: RegistryFixture, seen: string[]): Promise<void> {
  const event = (type: string, { object }: { object: { metadata: { name: string } } }): void =>
    void seen.push(`${type} ${object.metadata.name}`);
  const end = (error: Error | undefined): void => void seen.push(`end ${String(error)}`);
  await registry.watch(request(late), {}, { event, bookmark: () => undefined, end });
}

test('a kind that is added at run time is written, read and watched like others; when it is removed, its watches end', async () => {
  const fixture = await startRegistry();
  const { definitions, registry, request } = fixture;
  const served = new ServedResources(definitions);
  assert.equal(served.hasGroupVersion('late.io', 'v1'), false);
  await assert.rejects(fixture.create({ name: 'a' }, late), (error) => isApiError(error, 'NotFound'));
  definitions.change({ removed: [], added: [asAny(late)] });
  const seen: string[] = [];
  await watchEnd(fixture, seen);
  await fixture.create({ name: 'a' }, late);
  const { object } = await registry.get(request(late, 'a'), {});
  assert.deepEqual(
    [object.metadata.name, served.find('late.io', 'v1', 'lates')?.definition === asAny(late), served.generation],
    ['a', true, 1],
  );
  definitions.change({ removed: [asAny(late)], added: [] });
  assert.deepEqual(
    [seen, served.hasGroupVersion('late.io', 'v1'), definitions.byKind('late.io/v1', 'Late')],
    [['ADDED a', 'end undefined'], false, undefined],
  );
  await assert.rejects(registry.get(request(late, 'a'), {}), (error) => isApiError(error, 'NotFound'));
  await fixture.stop();
});

test('a definition that replaces another one of the same resource serves the stored objects, and the old watches end', async () => {
  const fixture = await startRegistry();
  const { definitions, registry, request } = fixture;
  const place = { ...late, type: { ...late.type, version: '' }, isInternal: true };
  const version = (shown: string): typeof widgets => ({
    ...late,
    columns: [{ name: shown, type: 'string', description: '', cell: () => shown }],
    storedAs: { stored: place.type, toStored: (object) => object, fromStored: (object) => object as never },
  });
  const [before, after] = [version('before'), version('after')];
  definitions.change({ removed: [], added: [asAny(place), asAny(before)] });
  const served = new ServedResources(definitions);
  await fixture.create({ name: 'a' }, before);
  const ends: unknown[] = [];
  const sink = { event: () => undefined, bookmark: () => undefined, end: (error: unknown) => void ends.push(error) };
  await registry.watch(request(before), {}, sink);
  definitions.change({ removed: [asAny(before)], added: [asAny(after)] });
  assert.deepEqual(
    [
      ends,
      served.all.flatMap(({ definition }) => definition.columns?.[0]?.name ?? []),
      (await registry.get(request(after, 'a'), {})).object.metadata.name,
    ],
    [[undefined], ['after'], 'a'],
  );
  await fixture.stop();
});
