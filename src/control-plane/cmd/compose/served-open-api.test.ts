import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fixedDefinitions } from '../../model/definitions.ts';
import { createOpenApiDocuments } from '../../openapi/open-api-documents.ts';
import type { OpenApiSchema } from '../../openapi/open-api-types.ts';
import { packageOf } from '../../openapi/definition-names.ts';
import { allResources } from '../../resources/all.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
  readonly definitions?: Readonly<Record<string, OpenApiSchema>>;
  readonly components?: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

const documents = createOpenApiDocuments(fixedDefinitions(allResources), { version: 'v1.36.0' });
const textOf = async (path: string): Promise<string> =>
  String((await documents.get({ path, accept: 'application/json' }))?.body);
const definitionsOf = ({ definitions, components }: Document): Readonly<Record<string, OpenApiSchema>> =>
  definitions ?? components?.schemas ?? {};

describe('the OpenAPI documents', () => {
  it('are whole: every reference leads somewhere, every operation has a name of its own', async () => {
    for (const path of documents.paths().filter((each) => each !== '/openapi/v3')) {
      const text = await textOf(path);
      const document = JSON.parse(text) as Document;
      const there = definitionsOf(document);
      const missing = [...text.matchAll(/"\$ref":"#\/(?:definitions|components\/schemas)\/([^"]+)"/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !(name in there));
      const ids = Object.values(document.paths).flatMap((item) =>
        Object.values(item).flatMap(({ operationId }) => operationId ?? []),
      );
      assert.deepEqual([path, [...new Set(missing)], ids.filter((id, i) => ids.indexOf(id) !== i)], [path, [], []]);
    }
  });

  it('name every kind in its own group, and say what it is', async () => {
    const unknown: string[] = [];
    for (const { type } of allResources) {
      const group = type.group === '' ? 'api' : `apis/${type.group}`;
      const schemas = definitionsOf(JSON.parse(await textOf(`/openapi/v3/${group}/${type.version}`)) as Document);
      const own = Object.entries(schemas).filter(([, schema]) =>
        schema['x-kubernetes-group-version-kind']?.some(
          (gvk) => gvk.kind === type.kind && gvk.group === type.group && gvk.version === type.version,
        ),
      );
      if (
        own.length !== 1 ||
        own[0]?.[0].startsWith(`${packageOf(type)}.`) !== true ||
        own[0][1].description === undefined
      )
        unknown.push(type.kind);
    }
    assert.deepEqual(unknown, []);
  });

  it('give each type one name: none is taken for another group’s because it was met there first', async () => {
    const names = Object.keys(definitionsOf(JSON.parse(await textOf('/openapi/v2')) as Document));
    const short = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
    const shared = names
      .filter((name) => names.some((other) => other !== name && short(other) === short(name)))
      .map(short);
    // These are different types in each group or version; all others of one name are one type.
    assert.deepEqual([...new Set(shared)].sort(), [
      'CrossVersionObjectReference',
      'EndpointPort',
      'Event',
      'EventList',
      'EventSeries',
      'HorizontalPodAutoscaler',
      'HorizontalPodAutoscalerList',
      'HorizontalPodAutoscalerSpec',
      'HorizontalPodAutoscalerStatus',
      'ResourceClaim',
      'ServiceReference',
      'Subject',
      'TokenRequest',
    ]);
  });
});
