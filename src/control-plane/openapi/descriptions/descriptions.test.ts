import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { FieldMap } from '../../../api/schema/schema.ts';
import { descriptions } from './descriptions.ts';

/** The fields of all object types of the API, by the type's name; types of one name are taken together. */
async function typesOfTheApi(): Promise<Map<string, Set<string>>> {
  const types = new Map<string, Set<string>>();
  const folder = path.join(import.meta.dirname, '../../../api');
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file.includes('testing')) continue;
    const module = (await import(path.join(folder, file))) as Readonly<Record<string, unknown>>;
    for (const value of Object.values(module)) {
      if (typeof value !== 'object' || value === null || !('fields' in value) || !('name' in value)) continue;
      const name = String(value.name);
      types.set(name, new Set([...(types.get(name) ?? []), ...Object.keys(value.fields as FieldMap)]));
    }
  }
  return types;
}

/** Not written as schemas: they are no objects, or only answers. */
const scalars = new Set([
  'Time',
  'MicroTime',
  'Duration',
  'FieldsV1',
  'Patch',
  'IntOrString',
  'Quantity',
  'RawExtension',
  'Status',
  'StatusDetails',
  'StatusCause',
  'PodTemplate',
]);

describe('descriptions of the API', () => {
  it('are of types and fields that there are', async () => {
    const types = await typesOfTheApi();
    const wrong = Object.entries(descriptions).flatMap(([type, fields]) => {
      if (scalars.has(type)) return [];
      const known = types.get(type);
      return known === undefined
        ? [type]
        : Object.keys(fields)
            .filter((field) => field !== '' && !known.has(field))
            .map((field) => `${type}.${field}`);
    });
    assert.deepEqual(wrong, []);
  });

  it('are sentences, and every type that is described says what it is', () => {
    const faults = Object.entries(descriptions).flatMap(([type, fields]) => [
      ...('' in fields ? [] : [`${type} does not say what it is`]),
      ...Object.entries(fields)
        .filter(([, text]) => !/^\S.*\.$/s.test(text))
        .map(([field]) => `${type}.${field} is no sentence`),
    ]);
    assert.deepEqual(faults, []);
  });
});
