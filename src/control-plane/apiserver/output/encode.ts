import { nextTurn } from '../../../base/turn.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Served, ServedList } from '../../registry/registry.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { BodyReply } from '../http/reply.ts';
import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import { envelopeAround } from '../../../api/protobuf/encode-protobuf.ts';
import { listItemHead } from '../../../api/protobuf/message-parts.ts';
import type { TextTasks } from '../texts/text-tasks.ts';
import { listMetadata, listMessage, partialListMessage, partialMessage } from './messages.ts';
import type { MessageKind, ObjectMessages } from './messages.ts';
import type { Output } from './negotiate.ts';
import { columnDefinitionsJson, partialJson, rowJson } from './table.ts';
import type { Columned, IncludeObject } from './table.ts';
import { writeYaml } from './write-yaml.ts';

export interface Answer {
  readonly status: number;
  readonly output: Output;
  readonly definition: ResourceDefinition;
  /** The source of the table's columns, if it is not the kind itself. */
  readonly columned?: Columned;
  /** The kind of its protobuf message. */
  readonly answered: MessageKind;
  readonly messages: ObjectMessages;
  readonly include: IncludeObject;
  readonly nowMs: number;
  /** The processor time, by which a list shares turns of the event loop with other work. */
  readonly workedMs: () => number;
  readonly texts: TextTasks;
  /** Whether the client has disconnected, so that the rest of a long response is not encoded. */
  readonly isAbandoned?: () => boolean;
}

/** Builds the response for one object in the requested encoding. Its cached JSON is used unchanged if possible. */
export async function objectReply(answer: Answer, served: Served): Promise<BodyReply> {
  const { output, include, nowMs } = answer;
  const { object } = served;
  if (output.encoding === 'protobuf') return messageReply(answer, object);
  const definition = answer.columned ?? answer.definition;
  const { form } = output;
  // A Status is not converted to a table or to metadata.
  if (form.as === 'object' || object.kind === 'Status') return textReply(answer, served.json);
  if (form.as === 'partial') return textReply(answer, partialJson(object, form.version));
  const row = rowJson({ definition, version: form.version, include }, served, nowMs);
  const meta = `{"resourceVersion":${JSON.stringify(object.metadata.resourceVersion ?? '')}}`;
  return textReply(
    answer,
    `{"kind":"Table","apiVersion":"meta.k8s.io/${form.version}","metadata":${meta},"columnDefinitions":${columnDefinitionsJson(definition)},"rows":[${row}]}`,
  );
}

function messageReply({ status, output: { form }, answered, messages }: Answer, object: ApiObject): BodyReply {
  const body =
    form.as === 'partial' && object.kind !== 'Status'
      ? partialMessage(object, form.version)
      : messages.sealed(object, answered);
  return { kind: 'body', status, headers: messageHeaders, body };
}

const messageHeaders = { 'content-type': PROTOBUF_CONTENT_TYPE };

/** The number of characters of items in one piece. Larger pieces copy more, smaller ones cause more writes. */
const PIECE_LENGTH = 65_536;
/**
 * The time for which a list is encoded before other work gets a turn. On a busy server each turn of the event loop is
 * long, so a list that takes many turns is slow.
 */
const TURN_MS = 8;
/**
 * The same for the first turn of a list. A page of 500 objects, as kubectl requests them, mostly needs less than this,
 * and then one turn instead of two.
 */
const FIRST_TURN_MS = 16;
/** The number of characters after which the time is read. */
const TIMED_CHARACTERS = 65_536;
const TIMED_ITEMS = 16;

/**
 * Builds the response for a list: the envelope and the items' cached JSON, in pieces and over several turns of the
 * event loop.
 */
export async function listReply(answer: Answer, list: ServedList): Promise<BodyReply> {
  const { status, output } = answer;
  if (output.encoding === 'protobuf') return listMessageReply(answer, list);
  const { envelope, field, itemJson } = listForm(answer, list);
  const pieces = new Pieces(answer);
  await listWriters[output.encoding === 'yaml' ? 'yaml' : output.pretty ? 'pretty' : 'json'](pieces, envelope, field, {
    items: list.items,
    itemJson,
    texts: answer.texts,
  });
  return { kind: 'body', status, headers: { 'content-type': contentTypes[output.encoding] }, body: pieces.end() };
}

/**
 * Builds the same as a protobuf message. Its length comes first, so nothing is sent before the last item is encoded.
 */
async function listMessageReply(answer: Answer, list: ServedList): Promise<BodyReply> {
  const { output, definition, messages, status } = answer;
  const { form } = output;
  const { raw, ...kind } = form.as === 'partial' ? partialListMessage(form.version) : listMessage(definition, messages);
  const pieces = new Pieces(answer);
  pieces.addBytes(listMetadata(list));
  await pieces.addAll(list.items, (item) => {
    const message = raw(item);
    pieces.addBytes(listItemHead(message.length));
    return message;
  });
  const body = pieces.end();
  const { head, tail } = envelopeAround(
    kind,
    body.reduce((sum, { length }) => sum + length, 0),
  );
  return { kind: 'body', status, headers: messageHeaders, body: [head, ...body, tail] };
}

interface ListForm {
  /** All fields except the items. Items in a list omit apiVersion and kind. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly field: 'items' | 'rows';
  readonly itemJson: (item: Served) => string;
}

function listForm({ output: { form }, definition, include, nowMs }: Answer, list: ServedList): ListForm {
  const metadata = {
    resourceVersion: list.resourceVersion,
    ...(list.continue !== undefined && { continue: list.continue }),
    ...(list.remainingItemCount !== undefined && { remainingItemCount: list.remainingItemCount }),
  };
  if (form.as === 'object')
    return {
      envelope: {
        kind: definition.listKind ?? `${definition.type.kind}List`,
        apiVersion: apiVersionOf(definition.type),
        metadata,
      },
      field: 'items',
      itemJson: ({ json }) => json,
    };
  const apiVersion = `meta.k8s.io/${form.version}`;
  if (form.as === 'partial')
    return {
      envelope: { kind: 'PartialObjectMetadataList', apiVersion, metadata },
      field: 'items',
      itemJson: ({ object }) => partialJson(object, form.version),
    };
  const columnDefinitions: unknown = JSON.parse(columnDefinitionsJson(definition));
  return {
    envelope: { kind: 'Table', apiVersion, metadata, columnDefinitions },
    field: 'rows',
    itemJson: (item) => rowJson({ definition, version: form.version, include }, item, nowMs),
  };
}

interface Listed {
  readonly items: readonly Served[];
  readonly itemJson: ListForm['itemJson'];
  readonly texts: TextTasks;
}
type ListWriter = (pieces: Pieces, envelope: ListForm['envelope'], field: string, listed: Listed) => Promise<void>;

const listWriters: Readonly<Record<'json' | 'pretty' | 'yaml', ListWriter>> = {
  json: async (pieces, envelope, field, { items, itemJson }) => {
    pieces.add(`${JSON.stringify(envelope).slice(0, -1)},"${field}":[`);
    await pieces.addAll(items, (item, index) => (index === 0 ? itemJson(item) : `,${itemJson(item)}`));
    pieces.add(']}\n');
  },
  pretty: async (pieces, envelope, field, { items, itemJson, texts }) => {
    pieces.add(`${JSON.stringify(envelope, undefined, 2).slice(0, -2)},\n  "${field}": [`);
    // JSON contains line breaks only between tokens.
    const pretty = async (item: Served): Promise<string> =>
      (await texts.indent(itemJson(item))).replaceAll('\n', '\n    ');
    await pieces.addAll(items, async (item, index) => `${index === 0 ? '' : ','}\n    ${await pretty(item)}`);
    pieces.add(items.length === 0 ? ']\n}\n' : '\n  ]\n}\n');
  },
  yaml: async (pieces, envelope, field, { items, itemJson, texts }) => {
    const part = (belongs: (key: string) => boolean): string => {
      const entries = Object.entries(envelope).filter(([key]) => belongs(key));
      return entries.length === 0 ? '' : writeYaml(Object.fromEntries(entries));
    };
    pieces.add(`${part((key) => key < field)}${field}:${items.length === 0 ? ' []' : ''}\n`);
    await pieces.addAll(items, (item) => texts.writeYamlItem(itemJson(item)));
    pieces.add(part((key) => key > field));
  },
};

/** Collects encoded pieces as bytes. Encoding the whole response at its end would block another turn. */
class Pieces {
  readonly #list: Buffer[] = [];
  readonly #answer: Pick<Answer, 'isAbandoned' | 'workedMs'>;
  #open = '';
  #openBytes: Buffer[] = [];
  #openLength = 0;

  constructor(answer: Pick<Answer, 'isAbandoned' | 'workedMs'>) {
    this.#answer = answer;
  }

  add(text: string): void {
    this.#open += text;
    if (this.#open.length >= PIECE_LENGTH) this.#close();
  }

  addBytes(bytes: Buffer): void {
    this.#openBytes.push(bytes);
    this.#openLength += bytes.length;
    if (this.#openLength >= PIECE_LENGTH) this.#close();
  }

  async addAll(
    items: readonly Served[],
    write: (item: Served, index: number) => string | Buffer | Promise<string>,
  ): Promise<void> {
    const { workedMs, isAbandoned } = this.#answer;
    let untilMs = workedMs() + FIRST_TURN_MS;
    let untimed = 0;
    for (const [index, item] of items.entries()) {
      const written = write(item, index);
      const text = written instanceof Promise ? await written : written;
      if (typeof text === 'string') this.add(text);
      else this.addBytes(text);
      untimed += text.length;
      if ((index + 1) % TIMED_ITEMS !== 0 && untimed < TIMED_CHARACTERS) continue;
      untimed = 0;
      if (workedMs() < untilMs) continue;
      await nextTurn();
      untilMs = workedMs() + TURN_MS;
      if (isAbandoned?.() === true)
        throw badRequest('the client closed the connection before the response was complete');
    }
  }

  end(): readonly Buffer[] {
    this.#close();
    return this.#list;
  }

  #close(): void {
    if (this.#open !== '') this.#list.push(Buffer.from(this.#open));
    if (this.#openLength > 0) this.#list.push(Buffer.concat(this.#openBytes, this.#openLength));
    this.#open = '';
    this.#openBytes = [];
    this.#openLength = 0;
  }
}

const contentTypes = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: PROTOBUF_CONTENT_TYPE,
} as const;

async function textReply(
  { status, output, texts }: Pick<Answer, 'status' | 'output' | 'texts'>,
  json: string,
): Promise<BodyReply> {
  const headers = { 'content-type': contentTypes[output.encoding] };
  if (output.encoding === 'yaml') return { kind: 'body', status, headers, body: await texts.writeYaml(json) };
  return { kind: 'body', status, headers, body: `${output.pretty ? await texts.indent(json) : json}\n` };
}
