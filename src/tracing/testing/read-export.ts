import { WireType } from '@bufbuild/protobuf/wire';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly scope: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentId: string;
  /** OTLP's number: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string>>;
  /** The attributes of the process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly links: number;
  readonly failed: boolean;
  readonly message: string;
}

type Fields = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

/** Decodes the spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1). */
export function readExport(request: Uint8Array): ReceivedSpan[] {
  return messages(fieldsOf(request), 1).flatMap((resourceSpans) => {
    const resource = messages(resourceSpans, 1)[0];
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({
        name: text(span, 5),
        scope: text(messages(scopeSpans, 1)[0], 1),
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        kind: Number(span.get(6)?.[0] ?? 0),
        attributes: attributesOf(span, 9),
        resource: attributesOf(resource, 1),
        links: span.get(13)?.length ?? 0,
        failed: Number(messages(span, 15)[0]?.get(3)?.[0] ?? 0) === 2,
        message: text(messages(span, 15)[0], 2),
      })),
    );
  });
}

function attributesOf(of: Fields | undefined, number: number): Record<string, string> {
  return Object.fromEntries(
    messages(of, number).map((pair) => {
      const value = messages(pair, 2)[0];
      return [text(pair, 1), value?.has(1) === true ? text(value, 1) : String(value?.get(3)?.[0] ?? '')];
    }),
  );
}

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, (Uint8Array | number)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Varint) values.push(Number(reader.int64()));
    else reader.skip(type, number);
  }
  return fields;
}

const bytesOf = (fields: Fields | undefined, number: number): readonly Uint8Array[] =>
  (fields?.get(number) ?? []).filter((value) => value instanceof Uint8Array);
const messages = (fields: Fields | undefined, number: number): readonly Fields[] =>
  bytesOf(fields, number).map(fieldsOf);
const text = (fields: Fields | undefined, number: number): string =>
  new TextDecoder().decode(bytesOf(fields, number)[0] ?? new Uint8Array());
const hex = (fields: Fields | undefined, number: number): string =>
  Buffer.from(bytesOf(fields, number)[0] ?? new Uint8Array()).toString('hex');
