import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { DeploymentSchema } from '../apps/deployment.ts';
import { ConfigMapSchema } from '../core/config-map.ts';
import { PodSchema } from '../core/pod.ts';
import { ServiceSchema } from '../core/service.ts';
import { decodeMessage, openEnvelope, ProtobufError, ProtobufTooLarge } from './decode-protobuf.ts';

type Build = (writer: BinaryWriter) => void;
const message = (build: Build): Uint8Array => {
  const writer = new BinaryWriter();
  build(writer);
  return writer.finish();
};
const bytes = (writer: BinaryWriter, number: number, value: Uint8Array): BinaryWriter =>
  writer.tag(number, WireType.LengthDelimited).bytes(value);
const text = (writer: BinaryWriter, number: number, value: string): BinaryWriter =>
  writer.tag(number, WireType.LengthDelimited).string(value);
const whole = (writer: BinaryWriter, number: number, value: number): BinaryWriter =>
  writer.tag(number, WireType.Varint).int64(value);
const inner = (writer: BinaryWriter, number: number, build: Build): BinaryWriter =>
  bytes(writer, number, message(build));

test('the envelope says which kind is in it; without its first four bytes it is none', () => {
  const unknown = message((writer) => {
    inner(writer, 1, (type) => text(text(type, 1, 'apps/v1'), 2, 'Deployment'));
    bytes(writer, 2, Buffer.from([1, 2]));
  });
  const { apiVersion, kind, raw } = openEnvelope(Buffer.concat([Buffer.from('k8s\0'), unknown]));
  assert.deepEqual([apiVersion, kind, [...raw]], ['apps/v1', 'Deployment', [1, 2]]);
  assert.throws(() => openEnvelope(unknown), ProtobufError);
});

test('maps, bytes and nested metadata become what JSON would say; zeros that Go writes for nothing are left out', () => {
  const raw = message((writer) => {
    inner(writer, 1, (meta) => {
      text(text(meta, 1, 'a'), 2, '');
      bytes(meta, 8, new Uint8Array());
      inner(meta, 11, (entry) => text(text(entry, 1, 'app'), 2, 'web'));
    });
    inner(writer, 2, (entry) => text(text(entry, 1, 'k'), 2, ''));
    inner(writer, 3, (entry) => bytes(text(entry, 1, 'b'), 2, Buffer.from('hi')));
  });
  assert.deepEqual(decodeMessage(raw, ConfigMapSchema), {
    metadata: { name: 'a', labels: { app: 'web' } },
    data: { k: '' },
    binaryData: { b: 'aGk=' },
  });
});

test('a zero behind a pointer is a value', () => {
  const raw = message((writer) => inner(writer, 2, (spec) => whole(whole(spec, 1, 0), 5, 0)));
  assert.deepEqual(decodeMessage(raw, DeploymentSchema), { spec: { replicas: 0 } });
});

test('messages that Go embeds stand in JSON as fields of the outer one', () => {
  const raw = message((writer) =>
    inner(writer, 2, (spec) =>
      inner(spec, 1, (volume) =>
        inner(text(volume, 1, 'data'), 2, (source) =>
          inner(source, 2, (emptyDir) => inner(text(emptyDir, 1, 'Memory'), 2, (amount) => text(amount, 1, '1Mi'))),
        ),
      ),
    ),
  );
  assert.deepEqual(decodeMessage(raw, PodSchema), {
    spec: { volumes: [{ name: 'data', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }] },
  });
});

test('ports by number or name, times, and packed or single numbers in lists', () => {
  const port =
    (build: Build): Build =>
    (spec) =>
      inner(spec, 1, (each) => inner(whole(each, 3, 80), 4, build));
  const service = (build: Build): unknown =>
    decodeMessage(
      message((writer) => inner(writer, 2, port(build))),
      ServiceSchema,
    );
  assert.deepEqual(
    service((value) => text(whole(value, 1, 1), 3, 'http')),
    { spec: { ports: [{ port: 80, targetPort: 'http' }] } },
  );
  assert.deepEqual(
    service((value) => whole(whole(value, 1, 0), 2, 8080)),
    { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
  );
  const groups = (build: Build): unknown =>
    decodeMessage(
      message((writer) => inner(writer, 2, (spec) => inner(spec, 14, build))),
      PodSchema,
    );
  assert.deepEqual(
    groups((context) => whole(whole(context, 4, 5), 4, 6)),
    { spec: { securityContext: { supplementalGroups: [5, 6] } } },
  );
  assert.deepEqual(
    groups((context) =>
      bytes(
        context,
        4,
        message((packed) => void packed.int64(5).int64(6)),
      ),
    ),
    { spec: { securityContext: { supplementalGroups: [5, 6] } } },
  );
  const created = message((writer) =>
    inner(writer, 1, (meta) => inner(meta, 8, (time) => whole(time, 1, 1_700_000_000))),
  );
  assert.deepEqual(decodeMessage(created, PodSchema), { metadata: { creationTimestamp: '2023-11-14T22:13:20Z' } });
});

test('whatever bytes come, the answer is a value or a ProtobufError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (raw) => {
      for (const schema of [PodSchema, ServiceSchema]) {
        try {
          decodeMessage(raw, schema);
        } catch (error) {
          assert.ok(error instanceof ProtobufError, String(error));
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test('any bytes after the four magic bytes decode or raise a ProtobufError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (rest) => {
      try {
        openEnvelope(Buffer.concat([Buffer.from('k8s\0'), rest]));
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error));
      }
    }),
    { examples: [[new Uint8Array([0, 0, 0])]] },
  );
});

test('more values than a body may have are refused, whatever they are hidden in', () => {
  const repeated = (build: Build, times: number): Uint8Array =>
    Buffer.concat(Array.from({ length: times }, () => message(build)));
  const unknown = repeated((writer) => whole(writer, 99, 1), 50_001);
  assert.throws(() => decodeMessage(unknown, ConfigMapSchema), ProtobufTooLarge);
  const inSpec = (raw: Uint8Array): Uint8Array => message((writer) => bytes(writer, 2, raw));
  assert.throws(
    () => decodeMessage(inSpec(repeated((spec) => inner(spec, 2, () => undefined), 50_001)), PodSchema),
    ProtobufTooLarge,
    'empty containers',
  );
  const packed = message((spec) => inner(spec, 14, (security) => bytes(security, 4, Buffer.alloc(60_000, 1))));
  assert.throws(() => decodeMessage(inSpec(packed), PodSchema), ProtobufTooLarge, 'groups in one field');
  const managed = (fields: string): Uint8Array =>
    message((writer) =>
      inner(writer, 1, (meta) => inner(meta, 17, (entry) => inner(entry, 7, (raw) => text(raw, 1, fields)))),
    );
  assert.throws(
    () => decodeMessage(managed(JSON.stringify(Array.from({ length: 60_000 }, () => 1))), ConfigMapSchema),
    ProtobufTooLarge,
    'free JSON',
  );
  assert.throws(() => decodeMessage(managed('['.repeat(1000) + ']'.repeat(1000)), ConfigMapSchema), {
    message: 'nested too deep',
  });
});
