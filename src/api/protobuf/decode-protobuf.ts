import { withWholeCharacters } from '../../base/whole-characters.ts';
import { Buffer } from 'node:buffer';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { exactly, parseExactJson } from '../../base/exact-json.ts';
import { measureJson } from '../measure-json.ts';
import { objectLimits } from '../object-limits.ts';
import { setOwn } from '../schema/decode.ts';
import type { ObjectSchema, Schema } from '../schema/schema.ts';
import { planMessage } from './message-plan.ts';
import type { MessagePlan, NumberedField } from './message-plan.ts';

/** The media type of protobuf bodies. */
export const PROTOBUF_CONTENT_TYPE = 'application/vnd.kubernetes.protobuf';

const magic = Buffer.from('k8s\0');
const DEEPEST = 64;
const nothing: MessagePlan = new Map();

export class ProtobufError extends Error {}

/** The limit for fields in a body. */
export class ProtobufTooLarge extends ProtobufError {}

/** The envelope of a message: it names the kind. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

/** Opens the envelope (upstream: runtime.Unknown after four bytes). Throws `ProtobufError` for other input. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || !magic.equals(bytes.subarray(0, magic.length)))
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix "k8s\\0"');
  return guarded(() => readEnvelope(new BinaryReader(bytes.subarray(magic.length))));
}

function readEnvelope(reader: BinaryReader): Envelope {
  let [apiVersion, kind] = ['', ''];
  let raw = new Uint8Array();
  eachField(reader, reader.len, (number, wire) => {
    if (number === 1 && wire === WireType.LengthDelimited) {
      const end = reader.uint32() + reader.pos;
      eachField(reader, end, (inner, innerWire) => {
        if (inner === 1 && innerWire === WireType.LengthDelimited) apiVersion = reader.string();
        else if (inner === 2 && innerWire === WireType.LengthDelimited) kind = reader.string();
        else reader.skip(innerWire, inner);
      });
    } else if (number === 2 && wire === WireType.LengthDelimited) raw = new Uint8Array(reader.bytes());
    else reader.skip(wire, number);
  });
  return { apiVersion, kind, raw };
}

/**
 * Decodes a message in the API's protobuf format to the equivalent JSON value; the schema checks it later, as for JSON.
 * Go may encode zero values that it could omit; they are dropped here. Throws `ProtobufError`.
 */
export function decodeMessage(raw: Uint8Array, schema: ObjectSchema): Record<string, unknown> {
  const reader = new BinaryReader(raw);
  return guarded(() => new MessageDecoder(reader).message(schema, reader.len, 0));
}

/** The reader's errors for malformed input have no class of their own. */
function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtobufError) throw error;
    throw new ProtobufError(`unable to decode protobuf: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function eachField(reader: BinaryReader, end: number, read: (number: number, wire: WireType) => void): void {
  if (end > reader.len) throw new ProtobufError('unexpected EOF');
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    read(number, wire);
  }
  if (reader.pos !== end) throw new ProtobufError('unexpected EOF');
}

class MessageDecoder {
  readonly #reader: BinaryReader;
  #values = 0;

  constructor(reader: BinaryReader) {
    this.#reader = reader;
  }

  message(schema: ObjectSchema, end: number, depth: number): Record<string, unknown> {
    const plan = planMessage(schema);
    if (plan === undefined && Object.keys(schema.fields).length > 0)
      throw new ProtobufError(`${schema.name} has no protobuf form here; send JSON`);
    const into: Record<string, unknown> = {};
    this.#fields(plan ?? nothing, into, end, depth);
    return into;
  }

  #fields(plan: MessagePlan, into: Record<string, unknown>, end: number, depth: number): void {
    if (depth > DEEPEST) throw new ProtobufError('nested too deep');
    const reader = this.#reader;
    this.#eachField(end, (number, wire) => {
      const field = plan.get(number);
      if (field === undefined) reader.skip(wire, number);
      else if (field instanceof Map) this.#fields(field, into, this.#length(), depth + 1);
      else this.#field(field as NumberedField, into, wire, depth);
    });
  }

  #field(field: NumberedField, into: Record<string, unknown>, wire: WireType, depth: number): void {
    const { name, schema } = field;
    if (schema.kind === 'array') {
      const list = (into[name] ??= []) as unknown[];
      // Lists of numbers may come packed.
      if (wire === WireType.LengthDelimited && (schema.items.kind === 'number' || schema.items.kind === 'boolean'))
        this.#packed(schema.items, list);
      else list.push(this.#value(schema.items, depth));
    } else if (schema.kind === 'map') {
      this.#entry(schema.values, (into[name] ??= {}) as Record<string, unknown>, depth);
    } else {
      const value = this.#value(schema, depth);
      if (value !== undefined && (field.keepsZero || !isZero(value))) into[name] = value;
    }
  }

  #packed(items: Schema, list: unknown[]): void {
    const end = this.#length();
    while (this.#reader.pos < end) {
      this.#count();
      list.push(this.#value(items, 0));
    }
  }

  #entry(values: Schema, into: Record<string, unknown>, depth: number): void {
    const reader = this.#reader;
    let key = '';
    let value: unknown = values.kind === 'string' && values.format === undefined ? '' : undefined;
    this.#eachField(this.#length(), (number, wire) => {
      if (number === 1) key = reader.string();
      else if (number === 2)
        value = values.kind === 'array' ? this.#wrappedList(values.items, depth) : this.#value(values, depth);
      else reader.skip(wire, number);
    });
    setOwn(into, key, value ?? null);
  }

  /** A list that is the value of a map has its own message (ExtraValue). */
  #wrappedList(items: Schema, depth: number): unknown[] {
    const list: unknown[] = [];
    this.#eachField(this.#length(), (number, wire) => {
      if (number === 1) list.push(this.#value(items, depth));
      else this.#reader.skip(wire, number);
    });
    return list;
  }

  #value(schema: Schema, depth: number): unknown {
    const reader = this.#reader;
    switch (schema.kind) {
      case 'boolean':
        return reader.bool();
      case 'number':
        return schema.format === 'double' ? reader.double() : exactWhole(reader.int64());
      case 'string':
        if (schema.format === 'bytes') return Buffer.from(reader.bytes()).toString('base64');
        if (schema.format === 'time') return this.#time(schema.micros === true);
        return reader.string();
      case 'quantity':
        return this.#scalars().get(1);
      case 'intOrString':
        return this.#intOrString();
      case 'object':
        return this.message(schema, this.#length(), depth + 1);
      case 'opaque':
        return schema.message === undefined
          ? this.#rawJson()
          : schema.message.fromMessage(this.message(schema.message.schema, this.#length(), depth + 1));
      case 'array':
      case 'map':
        throw new ProtobufError('a list in a list has no protobuf form');
    }
  }

  /** Unknown fields are counted too, because each takes only two bytes of input. */
  #eachField(end: number, read: (number: number, wire: WireType) => void): void {
    eachField(this.#reader, end, (number, wire) => {
      this.#count();
      read(number, wire);
    });
  }

  #count(values = 1): void {
    this.#values += values;
    if (this.#values > objectLimits.bodyValues)
      throw new ProtobufTooLarge(`more than ${objectLimits.bodyValues} values`);
  }

  #length(): number {
    return this.#reader.uint32() + this.#reader.pos;
  }

  /** A small message of numbers and strings. */
  #scalars(): Map<number, string | number> {
    const found = new Map<number, string | number>();
    this.#eachField(this.#length(), (number, wire) => {
      if (wire === WireType.Varint) found.set(number, wholeNumber(this.#reader.int64()));
      else if (wire === WireType.LengthDelimited) found.set(number, this.#reader.string());
      else this.#reader.skip(wire, number);
    });
    return found;
  }

  #time(micros: boolean): string | undefined {
    const parts = this.#scalars();
    if (parts.size === 0) return undefined;
    const [seconds, nanos] = [Number(parts.get(1) ?? 0), Number(parts.get(2) ?? 0)];
    const ms = seconds * 1000;
    if (!(Math.abs(ms) < 253_402_300_800_000)) throw new ProtobufError('a time is out of range');
    const whole = new Date(ms).toISOString().slice(0, 19);
    return micros ? `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${whole}Z`;
  }

  #intOrString(): string | number | undefined {
    const parts = this.#scalars();
    return parts.get(1) === 1 ? String(parts.get(3) ?? '') : Number(parts.get(2) ?? 0);
  }

  /** Free-form JSON is sent as text. */
  #rawJson(): unknown {
    const text = this.#scalars().get(1);
    if (text === undefined || text === '') return undefined;
    const { values, depth } = measureJson(Buffer.from(String(text)), objectLimits.bodyValues);
    this.#count(values);
    if (depth > objectLimits.depth) throw new ProtobufError('nested too deep');
    try {
      return parseExactJson(withWholeCharacters(String(text)));
    } catch {
      throw new ProtobufError('a field of arbitrary JSON contains invalid JSON; send the object as JSON');
    }
  }
}

function exactWhole(value: bigint | string): number | bigint {
  const whole = BigInt(value);
  return exactly(whole) ?? Number(whole);
}

function wholeNumber(value: bigint | string): number {
  return Number(value);
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}
