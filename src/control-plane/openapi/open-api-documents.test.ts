import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { fixedDefinitions } from '../model/definitions.ts';
import type { Definitions } from '../model/definitions.ts';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import { ScaleSchema } from '../../api/autoscaling/scale.ts';
import { BindingSchema } from '../../api/core/binding.ts';
import { EventSchema as CoreEventSchema } from '../../api/core/event.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { PodDisruptionBudgetSchema } from '../../api/policy/pod-disruption-budget.ts';
import { SecretSchema } from '../../api/core/secret.ts';
import { EventSchema } from '../../api/events/event.ts';
import { PersistentVolumeSchema } from '../../api/core/persistent-volume.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { createOpenApiDocuments } from './open-api-documents.ts';
import type { OpenApiSchema } from './open-api-types.ts';

const rules: ResourceDefinition['rules'] = {
  applyDefaults: (object) => object,
  validate: () => [],
  validateUpdate: () => [],
};

function kind(apiVersion: string, schema: ObjectSchema, more: Partial<ResourceDefinition> = {}): ResourceDefinition {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const plural = `${schema.name.toLowerCase()}s`;
  return {
    type: { group, version, kind: schema.name, plural, namespaced: true },
    singular: '',
    schema,
    storagePath: plural,
    rules,
    ...more,
  };
}

const never = (): never => assert.fail('documents are made from data alone');
// The order differs from that of the names, because core comes last here.
const documents = createOpenApiDocuments(
  fixedDefinitions([
    kind('apps/v1', DeploymentSchema, {
      hasStatus: true,
      views: [
        {
          name: 'scale',
          kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          schema: ScaleSchema,
          verbs: ['get', 'update', 'patch'],
          write: never,
          validate: never,
        },
      ],
    }),
    kind('events.k8s.io/v1', EventSchema),
    kind('v1', PodSchema, {
      actions: [
        { name: 'binding', kind: { group: '', version: 'v1', kind: 'Binding' }, schema: BindingSchema, perform: never },
      ],
      connects: [
        { name: 'log', verbs: ['get'], kind: 'Pod' },
        { name: 'exec', verbs: ['get', 'create'], kind: 'PodExecOptions' },
        { name: 'proxy', verbs: ['get'], kind: 'PodProxyOptions' },
      ],
    }),
    kind('v1', CoreEventSchema),
    kind('policy/v1', PodDisruptionBudgetSchema),
    kind('v1', SecretSchema),
    kind('v1', PersistentVolumeSchema, {
      type: { group: '', version: 'v1', kind: 'PersistentVolume', plural: 'persistentvolumes', namespaced: false },
      verbs: ['get', 'list', 'create'],
    }),
  ]),
  { version: 'v1.36.0' },
);

interface Operation {
  readonly operationId: string;
  readonly 'x-kubernetes-action': string;
  readonly 'x-kubernetes-group-version-kind': unknown;
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly definitions: Readonly<Record<string, OpenApiSchema>>;
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

async function read(path: string): Promise<Document> {
  const document = await documents.get({ path, accept: 'application/json' });
  return JSON.parse(String(document?.body)) as Document;
}
const v2 = (): Promise<Document> => read('/openapi/v2');
const core = async (): Promise<Readonly<Record<string, OpenApiSchema>>> =>
  (await read('/openapi/v3/api/v1')).components.schemas;
/** Removes fields that are only for people. */
const bare = (schema: OpenApiSchema | undefined): OpenApiSchema => ({ ...schema, description: undefined });
const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('OpenAPI definitions', () => {
  it('are named by the group whose type they are, also where several groups use one', async () => {
    const names = Object.keys((await v2()).definitions);
    for (const name of [
      'api.core.v1.PodSpec',
      'api.core.v1.PodTemplateSpec',
      'api.apps.v1.DeploymentSpec',
      'api.autoscaling.v1.Scale',
      'api.core.v1.Event',
      'api.events.v1.Event',
      'api.core.v1.EventSource',
      'api.apps.v1.DeploymentList',
    ]) {
      assert.ok(names.includes(`io.k8s.${name}`), name);
    }
    for (const name of [
      'ObjectMeta',
      'LabelSelector',
      'Status',
      'DeleteOptions',
      'Time',
      'MicroTime',
      'Patch',
      'FieldsV1',
    ])
      assert.ok(names.includes(`io.k8s.apimachinery.pkg.apis.meta.v1.${name}`), name);
    assert.deepEqual(
      names.filter((name) => /(apps|events)\.v1\.(PodSpec|ObjectMeta|EventSource|PodTemplateSpec)$/.test(name)),
      [],
    );
    assert.deepEqual(names, names.toSorted());
  });

  it('refer only to definitions that are there', async () => {
    for (const path of documents.paths().filter((each) => each !== '/openapi/v3')) {
      const text = String((await documents.get({ path, accept: undefined }))?.body);
      const document = JSON.parse(text) as Document;
      const there = document.definitions ?? document.components.schemas;
      const missing = [...text.matchAll(/"\$ref":"#\/(?:definitions|components\/schemas)\/([^"]+)"/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !(name in there));
      assert.deepEqual([path, [...new Set(missing)]], [path, []]);
    }
  });

  it('say which kind they are', async () => {
    const { definitions } = await v2();
    assert.deepEqual(definitions['io.k8s.api.apps.v1.Deployment']?.['x-kubernetes-group-version-kind'], [
      { group: 'apps', kind: 'Deployment', version: 'v1' },
    ]);
    assert.deepEqual(definitions['io.k8s.api.core.v1.Binding']?.['x-kubernetes-group-version-kind'], [
      { group: '', kind: 'Binding', version: 'v1' },
    ]);
    assert.equal(definitions['io.k8s.api.core.v1.PodSpec']?.['x-kubernetes-group-version-kind'], undefined);
  });

  it('say how lists and maps are merged and owned', async () => {
    const {
      'io.k8s.api.core.v1.PodSpec': spec,
      'io.k8s.api.core.v1.Container': container,
      'io.k8s.api.core.v1.ObjectReference': reference,
      'io.k8s.api.core.v1.PersistentVolumeSpec': volume,
    } = await core();
    assert.deepEqual(withoutUndefined(bare(spec?.properties?.['volumes'])), {
      type: 'array',
      items: { $ref: '#/components/schemas/io.k8s.api.core.v1.Volume' },
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge,retainKeys',
    });
    assert.deepEqual(container?.properties?.['ports']?.['x-kubernetes-list-map-keys'], ['containerPort', 'protocol']);
    assert.equal(container?.properties?.['ports']?.['x-kubernetes-patch-merge-key'], 'containerPort');
    assert.equal(container?.properties?.['command']?.['x-kubernetes-list-type'], 'atomic');
    assert.equal(spec?.properties?.['nodeSelector']?.['x-kubernetes-map-type'], 'atomic');
    assert.deepEqual(
      [reference?.['x-kubernetes-map-type'], volume?.properties?.['claimRef']?.['x-kubernetes-map-type']],
      ['atomic', 'granular'],
    );
  });

  it('say which objects a strategic merge patch sets as a whole', async () => {
    const { components } = await read('/openapi/v3/apis/policy/v1');
    const budget = components.schemas['io.k8s.api.policy.v1.PodDisruptionBudgetSpec'];
    assert.equal(budget?.properties?.['selector']?.['x-kubernetes-patch-strategy'], 'replace');
  });

  it('say of each field what a text or number is', async () => {
    const { definitions } = await v2();
    const schemas = await core();
    const container = definitions['io.k8s.api.core.v1.Container'];
    assert.deepEqual([...(container?.required ?? [])], ['name']);
    assert.deepEqual(container?.properties?.['imagePullPolicy']?.enum, ['Always', 'IfNotPresent', 'Never']);
    assert.deepEqual(
      withoutUndefined(definitions['io.k8s.api.core.v1.Secret']?.properties?.['data']?.additionalProperties),
      { type: 'string', format: 'byte' },
    );
    assert.equal(
      definitions['io.k8s.api.events.v1.Event']?.properties?.['eventTime']?.$ref,
      '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime',
    );
    assert.deepEqual(
      [definitions['io.k8s.api.core.v1.Event']?.required, definitions['io.k8s.api.events.v1.Event']?.required],
      [['metadata', 'involvedObject'], ['eventTime']],
    );
    const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
    assert.deepEqual(
      [definitions[intOrString]?.type, definitions[intOrString]?.format, schemas[intOrString]?.oneOf],
      ['string', 'int-or-string', [{ type: 'integer' }, { type: 'string' }]],
    );
    assert.deepEqual(
      [schemas['io.k8s.api.core.v1.Pod']?.properties?.['spec']?.allOf, schemas['io.k8s.api.core.v1.Pod']?.required],
      [[{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }], undefined],
    );
  });

  it('are explained, those that people look up', async () => {
    const schemas = await core();
    for (const [name, fields] of Object.entries({
      Pod: ['', 'metadata', 'spec', 'status'],
      PodSpec: ['', 'containers', 'restartPolicy', 'volumes', 'nodeName'],
      Container: ['', 'image', 'command', 'env', 'resources'],
    })) {
      const schema = schemas[`io.k8s.api.core.v1.${name}`];
      for (const field of fields)
        assert.ok((field === '' ? schema : schema?.properties?.[field])?.description, `${name}.${field}`);
    }
  });
});

describe('OpenAPI paths', () => {
  it('are those that the resource has, each method with its kind and action', async () => {
    const { paths } = await read('/openapi/v3/apis/apps/v1');
    const base = '/apis/apps/v1';
    const words = Object.entries(paths).map(
      ([path, item]) =>
        `${path.slice(base.length)} ${Object.entries(item)
          .flatMap(([method, operation]) =>
            method === 'parameters' ? [] : [`${method}:${operation?.['x-kubernetes-action']}`],
          )
          .join(' ')}`,
    );
    assert.deepEqual(words, [
      '/deployments get:list',
      '/namespaces/{namespace}/deployments get:list post:post delete:deletecollection',
      '/namespaces/{namespace}/deployments/{name} get:get put:put patch:patch delete:delete',
      '/namespaces/{namespace}/deployments/{name}/scale get:get put:put patch:patch',
      '/namespaces/{namespace}/deployments/{name}/status get:get put:put patch:patch',
    ]);
    const item = paths[`${base}/namespaces/{namespace}/deployments/{name}`];
    assert.deepEqual(item?.['patch']?.['x-kubernetes-group-version-kind'], {
      group: 'apps',
      kind: 'Deployment',
      version: 'v1',
    });
    assert.deepEqual(
      paths[`${base}/namespaces/{namespace}/deployments/{name}/scale`]?.['put']?.['x-kubernetes-group-version-kind'],
      { group: 'autoscaling', kind: 'Scale', version: 'v1' },
    );
    assert.equal(item?.['patch']?.operationId, 'patchAppsV1NamespacedDeployment');
  });

  it('have the parameters that kubectl looks for before it asks for a dry run or strict fields', async () => {
    for (const document of [await v2(), await read('/openapi/v3/apis/apps/v1')]) {
      const item = document.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
      assert.deepEqual(
        item?.['patch']?.parameters?.map(({ name }) => name).filter((name) => name !== 'body'),
        ['dryRun', 'fieldManager', 'fieldValidation', 'force'],
      );
    }
  });

  it('follow verbs and scope, and hold actions and streams', async () => {
    const { paths } = await read('/openapi/v3/api/v1');
    const methods = (path: string): string[] =>
      Object.keys(paths[`/api/v1/${path}`] ?? {}).filter((method) => method !== 'parameters');
    assert.deepEqual(
      [
        methods('persistentvolumes'),
        methods('persistentvolumes/{name}'),
        methods('namespaces/{namespace}/persistentvolumes'),
      ],
      [['get', 'post'], ['get'], []],
    );
    assert.deepEqual(
      [
        methods('namespaces/{namespace}/pods/{name}/binding'),
        methods('namespaces/{namespace}/pods/{name}/exec'),
        methods('namespaces/{namespace}/pods/{name}/log'),
      ],
      [['post'], ['get', 'post'], ['get']],
    );
    assert.deepEqual(methods('namespaces/{namespace}/pods/{name}/proxy/{path}'), ['get']);
    assert.deepEqual(
      paths['/api/v1/namespaces/{namespace}/pods/{name}/exec']?.['post']?.['x-kubernetes-group-version-kind'],
      { group: '', kind: 'PodExecOptions', version: 'v1' },
    );
  });

  it('give every operation a name of its own', async () => {
    const ids = Object.values((await v2()).paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => operation?.operationId ?? []),
    );
    assert.deepEqual(
      ids.filter((id, i) => ids.indexOf(id) !== i),
      [],
    );
  });
});

describe('how the OpenAPI documents are served', () => {
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

  it('lists the groups with hashes under which they may be kept forever', async () => {
    const { paths } = JSON.parse(String((await documents.get({ path: '/openapi/v3', accept: '*/*' }))?.body)) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    assert.deepEqual(Object.keys(paths), ['api/v1', 'apis/apps/v1', 'apis/events.k8s.io/v1', 'apis/policy/v1']);
    const url = new URL(paths['apis/apps/v1']?.serverRelativeURL ?? '', 'http://x');
    const [kept, other] = [
      await documents.get({ path: url.pathname, accept: undefined, query: url.searchParams }),
      await documents.get({ path: url.pathname, accept: undefined, query: new URLSearchParams('hash=OLD') }),
    ];
    assert.deepEqual(
      [url.pathname, kept?.etag, kept?.cacheControl, other?.cacheControl],
      ['/openapi/v3/apis/apps/v1', `"${url.searchParams.get('hash')}"`, 'public, immutable', undefined],
    );
  });

  it('makes a document once', async () => {
    const [first, second] = [
      await documents.get({ path: '/openapi/v2', accept: protobuf }),
      await documents.get({ path: '/openapi/v2', accept: protobuf }),
    ];
    assert.equal(first?.body, second?.body);
  });

  it('sends version 2 in the form that is asked for, and refuses others', async () => {
    const typeFor = async (accept: string | undefined): Promise<string | undefined> =>
      (await documents.get({ path: '/openapi/v2', accept }))?.contentType;
    const sent = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    assert.deepEqual(
      [
        await typeFor(protobuf),
        await typeFor(sent),
        await typeFor(`application/json;q=0.5, ${protobuf}`),
        await typeFor('text/html, */*;q=0.1'),
        await typeFor(undefined),
      ],
      [sent, sent, sent, 'application/json', 'application/json'],
    );
    await assert.rejects(
      documents.get({ path: '/openapi/v2', accept: 'text/html' }),
      (error) => error instanceof ApiStatusError && error.reason === 'NotAcceptable',
    );
  });

  it('knows no other paths', async () => {
    for (const path of ['/openapi/v3/apis/none/v1', '/openapi/v2/x', '/openapi', '/openapi/v4', '/api/v1'])
      assert.equal(await documents.get({ path, accept: undefined }), undefined, path);
  });

  it('writes in protobuf what it writes in JSON', async () => {
    const json = await v2();
    const bytes = (await documents.get({ path: '/openapi/v2', accept: protobuf }))?.body;
    assert.ok(bytes instanceof Uint8Array);
    const document = messageOf(bytes);
    const names = (field: number, entries: number): string[] =>
      messagesOf(document.get(field)?.[0])
        .get(entries)
        ?.map((entry) => textOf(messagesOf(entry).get(1)?.[0])) ?? [];
    assert.deepEqual(
      [textOf(document.get(1)?.[0]), names(9, 1), names(8, 2)],
      ['2.0', Object.keys(json.definitions), Object.keys(json.paths)],
    );
    const entry = messagesOf(document.get(9)?.[0])
      .get(1)
      ?.find((each) => textOf(messagesOf(each).get(1)?.[0]) === 'io.k8s.api.core.v1.Container');
    const container = messagesOf(messagesOf(entry).get(2)?.[0]);
    assert.deepEqual(
      [container.get(19)?.map(textOf), textOf(messagesOf(container.get(22)?.[0]).get(1)?.[0])],
      [['name'], 'object'],
    );
    const ports = messagesOf(container.get(25)?.[0])
      .get(1)
      ?.map(messagesOf)
      .find((property) => textOf(property.get(1)?.[0]) === 'ports');
    const extensions = messagesOf(ports?.get(2)?.[0])
      .get(31)
      ?.map((each) => [
        textOf(messagesOf(each).get(1)?.[0]),
        textOf(messagesOf(messagesOf(each).get(2)?.[0]).get(2)?.[0]),
      ]);
    assert.deepEqual(
      Object.fromEntries(extensions ?? [])['x-kubernetes-list-map-keys'],
      '["containerPort","protocol"]\n',
    );
  });
});

type Fields = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

/** Decodes a message without its description: its fields by number. */
function messageOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, (Uint8Array | number)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const value = wireType === WireType.Varint ? reader.uint32() : reader.bytes();
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}
const messagesOf = (value: Uint8Array | number | undefined): Fields =>
  value instanceof Uint8Array ? messageOf(value) : new Map();
const textOf = (value: Uint8Array | number | undefined): string =>
  value instanceof Uint8Array ? new TextDecoder().decode(value) : '';

describe('the document of version 2', () => {
  it('has each definition once, also those that built-in and custom kinds share', async () => {
    const custom = kind('example.com/v1', SecretSchema, { openApi: () => ({ type: 'object' }) });
    const both = createOpenApiDocuments(fixedDefinitions([kind('v1', SecretSchema), custom]), { version: 'v1.36.0' });
    const document = await both.get({ path: '/openapi/v2', accept: 'application/json' });
    const text = String(document?.body);
    const name = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';
    assert.equal(text.split(`"${name}":`).length - 1, 1);
    assert.deepEqual(
      Object.keys((JSON.parse(text) as Document).definitions).filter((each) => each.startsWith('com.example')),
      ['com.example.v1.Secret', 'com.example.v1.SecretList'],
    );
  });
});

describe('the documents of kinds that change', () => {
  it('describe the new form of a kind and no longer the old one, in both versions', async () => {
    const custom = (description: string): ResourceDefinition =>
      kind('example.com/v1', SecretSchema, { openApi: () => ({ type: 'object', description }) });
    const [before, after] = [custom('before'), custom('after')];
    const all = [before];
    let change: Parameters<Definitions['onChange']>[0] = () => assert.fail('changes are followed');
    const definitions: Definitions = { all, onChange: (listener) => ((change = listener), () => undefined) };
    const store = createOpenApiDocuments(definitions, { version: 'v1.36.0' });
    const found = async (path: string): Promise<string[]> =>
      String((await store.get({ path, accept: 'application/json' }))?.body).match(/"(?:before|after)"/g) ?? [];
    const paths = ['/openapi/v2', '/openapi/v3/apis/example.com/v1'];
    for (const path of paths) assert.deepEqual(await found(path), ['"before"'], path);
    all[0] = after;
    change({ removed: [before], added: [after] });
    for (const path of paths) assert.deepEqual(await found(path), ['"after"'], path);
  });
});

describe('a group version of many custom kinds', () => {
  const custom = (name: string, rendered: string[]): ResourceDefinition => {
    const plain = kind('example.com/v1', { ...SecretSchema, name });
    const render = (): Readonly<Record<string, unknown>> => {
      rendered.push(name);
      return { type: 'object', description: `about ${name}` };
    };
    return { ...plain, openApi: render };
  };
  const names = Array.from({ length: 30 }, (_, index) => `Kind${index}`);

  it('lets other work in between its kinds, and is made once for concurrent readers', async () => {
    const rendered: string[] = [];
    const made = createOpenApiDocuments(fixedDefinitions(names.map((name) => custom(name, rendered))), {
      version: 'v1.36.0',
    });
    const request = { path: '/openapi/v3/apis/example.com/v1', accept: 'application/json' };
    let most = 0;
    let before = 0;
    let isDone = false;
    const watch = (): void => {
      most = Math.max(most, rendered.length - before);
      before = rendered.length;
      if (!isDone) setImmediate(watch);
    };
    setImmediate(watch);
    const [first, second] = await Promise.all([made.get(request), made.get(request)]);
    isDone = true;
    assert.deepEqual([rendered.length, most], [names.length, 1]);
    assert.deepEqual(first, second);
    const { schemas } = (JSON.parse(String(first?.body)) as { components: { schemas: Record<string, OpenApiSchema> } })
      .components;
    for (const name of names) assert.equal(schemas[`com.example.v1.${name}`]?.description, `about ${name}`);
    assert.equal(String(first?.body).split('meta.v1.ObjectMeta":').length - 1, 1);
  });

  it('lets other work in between its kinds also when it is decompressed', async () => {
    const made = createOpenApiDocuments(fixedDefinitions(names.map((name) => custom(name, []))), {
      version: 'v1.36.0',
    });
    const request = { path: '/openapi/v3/apis/example.com/v1', accept: 'application/json' };
    const first = await made.get(request);
    let turns = 0;
    let isDone = false;
    const watch = (): void => {
      turns++;
      if (!isDone) setImmediate(watch);
    };
    setImmediate(watch);
    const again = await made.get(request);
    isDone = true;
    assert.deepEqual(again, first);
    assert.ok(turns >= names.length, String(turns));
  });
});
