import { Buffer } from 'node:buffer';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { MapSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { ProtobufError } from './decode-protobuf.ts';
import type { Envelope } from './decode-protobuf.ts';
import { planMessage } from './message-plan.ts';
import type { MessagePlan, NumberedField } from './message-plan.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * A value of the API as a message of its protobuf form, without the envelope. Fields without a number are left out, as
 * are fields that the schema does not know. Throws `ProtobufError` for a type that has no protobuf form.
 */
export function encodeMessage(value: object, schema: ObjectSchema): Uint8Array {
  const writer = new BinaryWriter();
  writeMessage(writer, value as Values, schema);
  return writer.finish();
}

/** The envelope that `openEnvelope` opens (upstream: runtime.Unknown behind four bytes). */
export function sealEnvelope({ apiVersion, kind, raw }: Envelope): Uint8Array {
  const typeMeta = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(apiVersion)
    .tag(2, WireType.LengthDelimited)
    .string(kind)
    .finish();
  const unknown = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .bytes(typeMeta)
    .tag(2, WireType.LengthDelimited)
    .bytes(raw)
    // contentEncoding and contentType: Go writes them though they are empty.
    .tag(3, WireType.LengthDelimited)
    .string('')
    .tag(4, WireType.LengthDelimited)
    .string('')
    .finish();
  return Buffer.concat([Buffer.from('k8s\0'), unknown]);
}

function writeMessage(writer: BinaryWriter, value: Values, schema: ObjectSchema): void {
  const plan = planMessage(schema);
  if (plan === undefined) {
    if (Object.keys(schema.fields).length > 0) throw new ProtobufError(`${schema.name} has no protobuf form here`);
    return;
  }
  writeFields(writer, value, plan);
}

function writeFields(writer: BinaryWriter, value: Values, plan: MessagePlan): void {
  for (const [number, entry] of plan) {
    if (entry instanceof Map) writeEmbedded(writer, value, number, entry);
    else writeField(writer, number, value, entry as NumberedField);
  }
}

/** A message that JSON does not show is there when one of its fields is. */
function writeEmbedded(writer: BinaryWriter, value: Values, number: number, plan: MessagePlan): void {
  const inner = new BinaryWriter();
  writeFields(inner, value, plan);
  const bytes = inner.finish();
  if (bytes.length > 0) writer.tag(number, WireType.LengthDelimited).bytes(bytes);
}

function writeField(writer: BinaryWriter, number: number, values: Values, { name, schema }: NumberedField): void {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === null) return;
  if (schema.kind === 'array') for (const item of value as unknown[]) writeValue(writer, number, item, schema.items);
  else if (schema.kind === 'map') writeMap(writer, number, value as Values, schema);
  else writeValue(writer, number, value, schema);
}

function writeMap(writer: BinaryWriter, number: number, entries: Values, { values }: MapSchema): void {
  for (const [key, value] of Object.entries(entries)) {
    writer.tag(number, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(key);
    if (values.kind === 'array') writeWrappedList(writer, value as unknown[], values.items);
    else writeValue(writer, 2, value, values);
    writer.join();
  }
}

/** A list as the value of a map is a message of its own (ExtraValue). */
function writeWrappedList(writer: BinaryWriter, list: readonly unknown[], items: Schema): void {
  writer.tag(2, WireType.LengthDelimited).fork();
  for (const item of list) writeValue(writer, 1, item, items);
  writer.join();
}

function writeValue(writer: BinaryWriter, number: number, value: unknown, schema: Schema): void {
  switch (schema.kind) {
    case 'boolean':
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case 'number':
      if (schema.format === 'double') writer.tag(number, WireType.Bit64).double(Number(value));
      else writer.tag(number, WireType.Varint).int64(value as number | bigint);
      return;
    case 'string':
      writeText(writer, number, String(value), schema.format);
      return;
    case 'quantity':
      inMessage(writer, number, () => writer.tag(1, WireType.LengthDelimited).string(String(value)));
      return;
    case 'intOrString':
      inMessage(writer, number, () => writeIntOrString(writer, value));
      return;
    case 'object':
      inMessage(writer, number, () => writeMessage(writer, value as Values, schema));
      return;
    case 'opaque':
      inMessage(writer, number, () => writer.tag(1, WireType.LengthDelimited).string(JSON.stringify(value)));
      return;
    case 'array':
    case 'map':
      throw new ProtobufError('a list in a list has no protobuf form');
  }
}

function writeText(
  writer: BinaryWriter,
  number: number,
  text: string,
  format: 'bytes' | 'time' | 'duration' | undefined,
): void {
  if (format === 'time') inMessage(writer, number, () => writeTime(writer, text));
  else if (format === 'bytes') writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(text, 'base64'));
  else writer.tag(number, WireType.LengthDelimited).string(text);
}

const fraction = /\.(\d{1,9})/;

/** Go's Timestamp: whole seconds since 1970, and nanoseconds. */
function writeTime(writer: BinaryWriter, text: string): void {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new ProtobufError(`${text} is no time`);
  const nanos = Number((fraction.exec(text)?.[1] ?? '').padEnd(9, '0'));
  writer.tag(1, WireType.Varint).int64(Math.floor(ms / 1000));
  if (nanos > 0) writer.tag(2, WireType.Varint).int32(nanos);
}

/** Go's IntOrString: which of both it is, the number, the text. */
function writeIntOrString(writer: BinaryWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writer.tag(1, WireType.Varint).int64(isText ? 1 : 0);
  writer.tag(2, WireType.Varint).int32(isText ? 0 : Number(value));
  writer.tag(3, WireType.LengthDelimited).string(isText ? value : '');
}

function inMessage(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}
