import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { ConfigMapSchema } from '../../../api/core/config-map.ts';
import { decodeMessage, openEnvelope } from '../../../api/protobuf/decode-protobuf.ts';
import { array, field, object } from '../../../api/schema/schema.ts';
import type { ObjectSchema } from '../../../api/schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../../../api/core/meta.ts';
import { StatusSchema } from '../../../api/status/status.ts';
import { fixedDefinitions } from '../../model/definitions.ts';
import type { ReplyStream } from '../http/reply.ts';
import { fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { definition, fixture } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';
import { kindOf, ObjectMessages } from './messages.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
const maps = '/api/v1/namespaces/default/configmaps';
const list = (item: ObjectSchema): ObjectSchema =>
  object('List', { metadata: field(1, ListMetaSchema), items: field(2, array(item)) });
const PartialSchema = object('PartialObjectMetadata', { metadata: field(1, ObjectMetaSchema) });

const configMaps = definition('ConfigMap', 'configmaps', { schema: ConfigMapSchema });
const served = (): Fixture => fixture({ definitions: fixedDefinitions([configMaps]) });

const make = (each: Fixture, name: string): Promise<unknown> =>
  each.server.handle(fakeRequest('POST', maps, { body: { metadata: { name }, data: { text: name } } }));

async function ask(each: Fixture, method: string, target: string, accept: string): Promise<Buffer> {
  const reply = await each.server.handle(fakeRequest(method, target, { headers: { accept } }));
  assert.equal(headerOfReply(reply, 'content-type'), protobuf);
  assert.ok(reply.kind === 'body');
  const { body } = reply;
  return Buffer.isBuffer(body) ? body : Buffer.concat(body as readonly Buffer[]);
}

function opened(bytes: Uint8Array, schema: ObjectSchema): { readonly as: string; readonly value: unknown } {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  return { as: `${apiVersion} ${kind}`, value: decodeMessage(raw, schema) };
}

const namesOf = (value: unknown): readonly string[] =>
  (value as { items?: { metadata: { name: string } }[] }).items?.map(({ metadata }) => metadata.name) ?? [];

describe('protobuf responses', () => {
  it('contain the object, the list or its metadata, each in an envelope with its type', async () => {
    const each = served();
    for (const name of ['a', 'b']) await make(each, name);
    const one = opened(await ask(each, 'GET', `${maps}/a`, protobuf), ConfigMapSchema);
    assert.deepEqual([one.as, (one.value as { data: unknown }).data], ['v1 ConfigMap', { text: 'a' }]);
    const all = opened(await ask(each, 'GET', maps, protobuf), list(ConfigMapSchema));
    assert.deepEqual(
      [all.as, namesOf(all.value), (all.value as { metadata: object }).metadata],
      ['v1 ConfigMapList', ['a', 'b'], { resourceVersion: '2' }],
    );
    const metadata = opened(await ask(each, 'GET', maps, partial), list(PartialSchema));
    assert.deepEqual([metadata.as, namesOf(metadata.value)], ['meta.k8s.io/v1 PartialObjectMetadataList', ['a', 'b']]);
    const own = opened(await ask(each, 'GET', `${maps}/b`, partial), PartialSchema);
    assert.equal(own.as, 'meta.k8s.io/v1 PartialObjectMetadata');
  });

  it('contain a Status for errors and for deleted objects', async () => {
    const each = served();
    await make(each, 'a');
    const missing = opened(await ask(each, 'GET', `${maps}/x`, protobuf), StatusSchema);
    const deleted = opened(await ask(each, 'DELETE', `${maps}/a`, protobuf), StatusSchema);
    const { reason, code } = missing.value as { reason: string; code: number };
    assert.deepEqual(
      [missing.as, reason, code, deleted.as, (deleted.value as { status: string }).status],
      ['v1 Status', 'NotFound', 404, 'v1 Status', 'Success'],
    );
  });

  it('do not exist for kinds without a protobuf form', async () => {
    const each = fixture();
    const reply = await each.server.handle(fakeRequest('GET', maps, { headers: { accept: protobuf } }));
    assert.deepEqual([reply.status, headerOfReply(reply, 'content-type')], [406, 'application/json']);
  });
});

/** Creates a stream that accepts all data and parses it as frames. */
function frames(): { readonly stream: ReplyStream; readonly events: () => readonly (readonly [string, Buffer])[] } {
  const chunks: Buffer[] = [];
  const ignore = (): void => undefined;
  return {
    stream: {
      write: (chunk) => (chunks.push(Buffer.from(chunk as Uint8Array)), true),
      onDrain: ignore,
      onClose: ignore,
      end: ignore,
      destroy: ignore,
    },
    events: () => {
      const found: [string, Buffer][] = [];
      for (let rest = Buffer.concat(chunks); rest.length > 0; ) {
        const end = 4 + rest.readUInt32BE();
        found.push(readEvent(rest.subarray(4, end)));
        rest = rest.subarray(end);
      }
      return found;
    },
  };
}

/** Parses a WatchEvent by its field numbers. */
function readEvent(bytes: Buffer): [string, Buffer] {
  const reader = new BinaryReader(bytes);
  assert.deepEqual(reader.tag(), [1, 2]);
  const type = reader.string();
  assert.deepEqual(reader.tag(), [2, 2]);
  const extension = new BinaryReader(reader.bytes());
  assert.deepEqual(extension.tag(), [1, 2]);
  return [type, Buffer.from(extension.bytes())];
}

describe('a protobuf watch', () => {
  it('frames each event by its length, with the object in an envelope, bookmarks and errors too', async () => {
    const each = served();
    await make(each, 'a');
    const reply = await each.server.handle(
      fakeRequest(
        'GET',
        `${maps}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
        { headers: { accept: protobuf } },
      ),
    );
    assert.ok(reply.kind === 'stream');
    assert.equal(headerOfReply(reply, 'content-type'), `${protobuf};stream=watch`);
    const { stream, events } = frames();
    reply.start(stream);
    await make(each, 'b');
    await each.clock.settle();
    each.registry.expireWatches();
    await each.clock.settle();
    const shown = events().map(([type, bytes]) => {
      const { as, value } = opened(bytes, type === 'ERROR' ? StatusSchema : ConfigMapSchema);
      const { metadata, code } = value as { metadata?: { name?: string; annotations?: object }; code?: number };
      const named = metadata?.name === '' ? Object.keys(metadata.annotations ?? {}).join() : metadata?.name;
      return [type, as, named ?? code];
    });
    assert.deepEqual(shown, [
      ['ADDED', 'v1 ConfigMap', 'a'],
      ['BOOKMARK', 'v1 ConfigMap', 'k8s.io/initial-events-end'],
      ['ADDED', 'v1 ConfigMap', 'b'],
      ['ERROR', 'v1 Status', 410],
    ]);
  });

  it('shares its frames only with watches of the same form', async () => {
    const each = served();
    const open = async (accept: string): Promise<Buffer[]> => {
      const chunks: Buffer[] = [];
      const reply = await each.server.handle(
        fakeRequest('GET', `${maps}?watch=1&resourceVersion=1`, { headers: { accept } }),
      );
      assert.ok(reply.kind === 'stream');
      reply.start({ ...frames().stream, write: (chunk) => (chunks.push(chunk as Buffer), true) });
      return chunks;
    };
    const [first, second, metadata, json] = [
      await open(protobuf),
      await open(protobuf),
      await open(partial),
      await open('application/json'),
    ];
    await make(each, 'a');
    await each.clock.settle();
    assert.equal(first[0], second[0]);
    assert.equal(new Set([first, metadata, json].map(([bytes]) => bytes?.toString('hex'))).size, 3);
  });
});

describe('protobuf messages of objects', () => {
  it('are created once, and dropped beyond the limit, the oldest first', () => {
    const messages = new ObjectMessages(400);
    const { schema } = kindOf(configMaps);
    const objects = Array.from({ length: 8 }, (_, index) => ({
      metadata: { name: `n${index}`, namespace: '', uid: '' },
      data: { text: 'x'.repeat(60) },
    }));
    const first = objects.map((each) => messages.raw(each, schema));
    assert.equal(messages.raw(objects[7] ?? assert.fail(), schema), first[7]);
    assert.notEqual(messages.raw(objects[0] ?? assert.fail(), schema), first[0]);
    const large = { metadata: { name: 'l', namespace: '', uid: '' }, data: { text: 'x'.repeat(200) } };
    assert.notEqual(messages.raw(large, schema), messages.raw(large, schema));
  });
});
