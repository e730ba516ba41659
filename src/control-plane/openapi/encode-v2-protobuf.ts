import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { JsonObject } from './render-document.ts';

/**
 * A document of OpenAPI 2 in the protobuf form of gnostic's `openapi.v2.Document`, the only form in which kubectl reads
 * version 2. Messages are described by their documented field numbers; extensions (`x-...`) are stored in gnostic's
 * vendor extension fields as YAML (JSON is YAML).
 */
export function encodeV2(document: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  write(writer, documentMessage, document);
  return writer.finish();
}

type FieldWriter = (writer: BinaryWriter, number: number, value: unknown) => void;

interface Message {
  readonly fields: Readonly<Record<string, readonly [number: number, write: FieldWriter]>>;
  /** The field for unknown keys: extensions, or for maps all entries. */
  readonly others?: { readonly number: number; readonly entry: FieldWriter; readonly all?: boolean };
}

function write(writer: BinaryWriter, { fields, others }: Message, value: unknown): void {
  for (const [key, each] of Object.entries(asObject(value))) {
    if (each === undefined) continue;
    const field = fields[key];
    if (field !== undefined) field[1](writer, field[0], each);
    else if (others !== undefined && (others.all === true || key.startsWith('x-')))
      nested(writer, others.number, () => {
        writer.uint32(tag(1, 2)).string(key);
        others.entry(writer, 2, each);
      });
  }
}

function asObject(value: unknown): JsonObject {
  // This folder creates the documents, so the types are known.
  return value as JsonObject;
}

const tag = (number: number, wireType: 0 | 2): number => (number << 3) | wireType;

function nested(writer: BinaryWriter, number: number, fill: () => void): void {
  writer.uint32(tag(number, 2)).fork();
  fill();
  writer.join();
}

const text: FieldWriter = (writer, number, value) => void writer.uint32(tag(number, 2)).string(String(value));
const flag: FieldWriter = (writer, number, value) => void (value === true && writer.uint32(tag(number, 0)).bool(true));
const repeated =
  (each: FieldWriter): FieldWriter =>
  (writer, number, value) => {
    for (const item of value as readonly unknown[]) each(writer, number, item);
  };
/** Recursive messages are resolved when they are encoded. */
const message =
  (get: () => Message): FieldWriter =>
  (writer, number, value) =>
    nested(writer, number, () => write(writer, get(), value));
/** Writes gnostic's Any: the value as YAML. */
const any: FieldWriter = (writer, number, value) =>
  nested(writer, number, () => text(writer, 2, `${JSON.stringify(value)}\n`));
/** A message with a single repeated field of texts. */
const texts: FieldWriter = (writer, number, value) =>
  nested(writer, number, () => repeated(text)(writer, 1, Array.isArray(value) ? value : [value]));
/** Writes a message that wraps another one in its field `inner`. */
const within =
  (inner: number, field: FieldWriter): FieldWriter =>
  (writer, number, value) =>
    nested(writer, number, () => field(writer, inner, value));

const extensions = (number: number): NonNullable<Message['others']> => ({ number, entry: any });
const mapOf = (entry: FieldWriter): Message => ({ fields: {}, others: { number: 1, entry, all: true } });

const schemaMessage: Message = {
  fields: {
    $ref: [1, text],
    format: [2, text],
    description: [4, text],
    required: [19, repeated(text)],
    enum: [20, repeated(any)],
    additionalProperties: [
      21,
      within(
        1,
        message(() => schemaMessage),
      ),
    ],
    type: [22, texts],
    items: [
      23,
      within(
        1,
        message(() => schemaMessage),
      ),
    ],
    allOf: [24, repeated(message(() => schemaMessage))],
    properties: [25, message(() => mapOf(message(() => schemaMessage)))],
  },
  others: extensions(31),
};

const bodyParameter: Message = {
  fields: {
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, message(() => schemaMessage)],
  },
};
const queryParameter: Message = {
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  },
};
const pathParameter: Message = {
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [19, flag],
  },
};

/** Writes ParametersItem, Parameter and NonBodyParameter around the matching message. */
const parameter: FieldWriter = (writer, number, value) => {
  const place = asObject(value)['in'];
  const inner =
    place === 'body'
      ? within(
          1,
          message(() => bodyParameter),
        )
      : within(
          2,
          place === 'path'
            ? within(
                4,
                message(() => pathParameter),
              )
            : within(
                3,
                message(() => queryParameter),
              ),
        );
  nested(writer, number, () => inner(writer, 1, value));
};

const response: Message = {
  fields: {
    description: [1, text],
    schema: [
      2,
      within(
        1,
        message(() => schemaMessage),
      ),
    ],
  },
};
const responses: Message = {
  fields: {},
  others: {
    number: 1,
    entry: within(
      1,
      message(() => response),
    ),
    all: true,
  },
};

const operation: Message = {
  fields: {
    tags: [1, repeated(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, repeated(text)],
    consumes: [7, repeated(text)],
    parameters: [8, repeated(parameter)],
    responses: [9, message(() => responses)],
    schemes: [10, repeated(text)],
  },
  others: extensions(13),
};
const operationField = message(() => operation);

const pathItem: Message = {
  fields: {
    get: [2, operationField],
    put: [3, operationField],
    post: [4, operationField],
    delete: [5, operationField],
    options: [6, operationField],
    head: [7, operationField],
    patch: [8, operationField],
    parameters: [9, repeated(parameter)],
  },
};

const apiKey: Message = { fields: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] } };

const documentMessage: Message = {
  fields: {
    swagger: [1, text],
    info: [2, message(() => ({ fields: { title: [1, text], version: [2, text] } }))],
    paths: [8, message(() => ({ fields: {}, others: { number: 2, entry: message(() => pathItem), all: true } }))],
    definitions: [9, message(() => mapOf(message(() => schemaMessage)))],
    security: [12, repeated(message(() => mapOf(texts)))],
    securityDefinitions: [
      13,
      message(() =>
        mapOf(
          within(
            2,
            message(() => apiKey),
          ),
        ),
      ),
    ],
  },
};
