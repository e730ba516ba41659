import { Buffer } from 'node:buffer';
import { goJson } from '../go-json.ts';
import type { ObjectSchema, Schema } from '../schema/schema.ts';
import { ProtobufError } from './decode-protobuf.ts';
import type { Envelope } from './decode-protobuf.ts';
import { planMessage } from './message-plan.ts';
import type { MessagePlan, NumberedField } from './message-plan.ts';
import { MessageWriter, wireTypes } from './message-writer.ts';

type Values = Readonly<Record<string, unknown>>;
/** Writes a value with its tag. */
type WriteField = (writer: MessageWriter, value: unknown) => void;
/** Writes the fields of a message, without a tag. */
type WriteFields = (writer: MessageWriter, value: Values) => void;

/**
 * Encodes a value in the API's protobuf format, without the envelope. Fields without a number and unknown fields are
 * left out. Throws `ProtobufError` for a type without a protobuf format.
 */
export function encodeMessage(value: object, schema: ObjectSchema): Buffer {
  return written((writer) => encoderOf(schema)(writer, value as Values));
}

/** Writes the envelope that `openEnvelope` reads (upstream: runtime.Unknown after four bytes). */
export function sealEnvelope({ apiVersion, kind, raw }: Envelope): Buffer {
  const { head, tail } = envelopeAround({ apiVersion, kind }, raw.length);
  return Buffer.concat([head, raw, tail]);
}

/** The bytes before and after a message of this length in an envelope, for messages that are sent in parts. */
export function envelopeAround(
  { apiVersion, kind }: Omit<Envelope, 'raw'>,
  rawBytes: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  const head = written((writer) => {
    writer.uint(rawBytes);
    writer.tag(2, wireTypes.bytes);
    const before = writer.length;
    writeText(writer, 2, kind);
    writeText(writer, 1, apiVersion);
    writer.lengthSince(before, 1);
    writer.raw(magic);
  });
  return { head, tail: noContentType };
}

const magic = Buffer.from('k8s\0');
/** Empty contentEncoding and contentType, which Go writes. */
const noContentType = Buffer.from([0x1a, 0, 0x22, 0]);

/** One writer for all: encoding is synchronous, and the result is copied. */
const shared = new MessageWriter();

function written(write: (writer: MessageWriter) => void): Buffer {
  try {
    write(shared);
    return shared.finish();
  } catch (error) {
    shared.reset();
    throw error;
  }
}

const encoders = new WeakMap<ObjectSchema['fields'], WriteFields>();

/** The encoder for messages of this type, created once. */
function encoderOf(schema: ObjectSchema): WriteFields {
  let encoder = encoders.get(schema.fields);
  if (encoder === undefined) {
    const plan = planMessage(schema);
    if (plan === undefined && Object.keys(schema.fields).length > 0)
      throw new ProtobufError(`${schema.name} has no protobuf form here`);
    encoder = plan === undefined ? () => undefined : fieldsEncoder(plan);
    encoders.set(schema.fields, encoder);
  }
  return encoder;
}

/**
 * Fields are written in the order of the object, which is that of the type. Iterating over all possible fields would be
 * slower.
 */
function fieldsEncoder(plan: MessagePlan): WriteFields {
  const writes = new Map<string, WriteField>();
  const embedded: WriteFields[] = [];
  for (const [number, entry] of plan) {
    if (entry instanceof Map) embedded.push(embeddedEncoder(number, entry));
    else {
      // A field that is not an inner message.
      const field = entry as NumberedField;
      writes.set(field.name, fieldEncoder(number, field));
    }
  }
  return (writer, values) => {
    for (const write of embedded) write(writer, values);
    const names = Object.keys(values);
    for (let index = names.length - 1; index >= 0; index--) {
      const name = names[index] ?? '';
      const value = values[name];
      if (value !== undefined && value !== null) writes.get(name)?.(writer, value);
    }
  };
}

/** A nested message that JSON does not show is written if one of its fields exists. */
function embeddedEncoder(number: number, plan: MessagePlan): WriteFields {
  const fields = fieldsEncoder(plan);
  return (writer, value) => {
    const before = writer.length;
    fields(writer, value);
    if (writer.length > before) writer.lengthSince(before, number);
  };
}

function fieldEncoder(number: number, { schema }: NumberedField): WriteField {
  if (schema.kind === 'array') return repeatedEncoder(number, schema.items);
  return schema.kind === 'map' ? mapEncoder(number, schema.values) : valueEncoder(number, schema);
}

function repeatedEncoder(number: number, items: Schema): WriteField {
  const write = valueEncoder(number, items);
  return (writer, value) => {
    const list = value as readonly unknown[];
    for (let index = list.length - 1; index >= 0; index--) write(writer, list[index]);
  };
}

function mapEncoder(number: number, values: Schema): WriteField {
  // A list as the value of a map is a message of its own (ExtraValue).
  const write = values.kind === 'array' ? inMessage(2, repeatedEncoder(1, values.items)) : valueEncoder(2, values);
  return (writer, value) => {
    const entries = value as Values;
    for (const key of Object.keys(entries).reverse()) {
      const before = writer.length;
      write(writer, entries[key]);
      writeText(writer, 1, key);
      writer.lengthSince(before, number);
    }
  };
}

function valueEncoder(number: number, schema: Schema): WriteField {
  switch (schema.kind) {
    case 'boolean':
      return (writer, value) => {
        writer.uint(value === true ? 1 : 0);
        writer.tag(number, wireTypes.varint);
      };
    case 'number':
      return schema.format === 'double' ? doubleEncoder(number) : wholeEncoder(number);
    case 'string':
      return textEncoder(number, schema.format);
    case 'quantity':
      return inMessage(number, (writer, value) => writeText(writer, 1, String(value)));
    case 'intOrString':
      return inMessage(number, writeIntOrString);
    case 'object':
      // Types may be recursive: the inner encoder is looked up when it is needed.
      return inMessage(number, (writer, value) => encoderOf(schema)(writer, value as Values));
    case 'opaque':
      return opaqueEncoder(number, schema);
    case 'array':
    case 'map':
      return () => {
        throw new ProtobufError('a list in a list has no protobuf form');
      };
  }
}

function opaqueEncoder(number: number, { message }: Extract<Schema, { readonly kind: 'opaque' }>): WriteField {
  if (message === undefined) return inMessage(number, (writer, value) => writeText(writer, 1, goJson(value)));
  return inMessage(number, (writer, value) => encoderOf(message.schema)(writer, message.toMessage(value) as Values));
}

function wholeEncoder(number: number): WriteField {
  return (writer, value) => {
    writer.int(value as number | bigint);
    writer.tag(number, wireTypes.varint);
  };
}

function doubleEncoder(number: number): WriteField {
  return (writer, value) => {
    writer.double(Number(value));
    writer.tag(number, wireTypes.fixed64);
  };
}

function textEncoder(number: number, format: 'bytes' | 'time' | 'duration' | undefined): WriteField {
  if (format === 'time')
    return inMessage(number, (writer, value) => {
      // Go's zero time, which a map may contain, is an empty message.
      if (value !== null) writeTime(writer, String(value));
    });
  if (format === 'bytes') return inMessage(number, (writer, value) => writer.raw(Buffer.from(String(value), 'base64')));
  return (writer, value) => writeText(writer, number, value as string);
}

function writeText(writer: MessageWriter, number: number, text: string): void {
  const before = writer.length;
  writer.text(text);
  writer.lengthSince(before, number);
}

function inMessage(number: number, write: WriteField): WriteField {
  return (writer, value) => {
    const before = writer.length;
    write(writer, value);
    writer.lengthSince(before, number);
  };
}

const fraction = /\.(\d{1,9})/;

/** Go's Timestamp: whole seconds since 1970, and nanoseconds. */
function writeTime(writer: MessageWriter, text: string): void {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new ProtobufError(`${text} is no time`);
  writer.uint(Number((fraction.exec(text)?.[1] ?? '').padEnd(9, '0')));
  writer.tag(2, wireTypes.varint);
  writer.int(Math.floor(ms / 1000));
  writer.tag(1, wireTypes.varint);
}

/** Go's IntOrString: the type, the number and the text. */
function writeIntOrString(writer: MessageWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writeText(writer, 3, isText ? value : '');
  writer.int(isText ? 0 : Number(value));
  writer.tag(2, wireTypes.varint);
  writer.uint(isText ? 1 : 0);
  writer.tag(1, wireTypes.varint);
}
