import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Served, ServedList } from '../../registry/registry.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { BodyReply } from '../http/reply.ts';
import type { Output } from './negotiate.ts';
import { columnDefinitionsJson, partialJson, rowJson } from './table.ts';
import type { Columned, IncludeObject } from './table.ts';
import { writeYaml } from './write-yaml.ts';

export interface Answer {
  readonly status: number;
  readonly output: Output;
  readonly definition: ResourceDefinition;
  /** What the answer's table is of, when that is not the kind itself. */
  readonly columned?: Columned;
  readonly include: IncludeObject;
  readonly nowMs: number;
}

/** An object's answer in the form that was asked for. Its JSON is used as it is wherever that will do. */
export async function objectReply(answer: Answer, { object, json }: Served): Promise<BodyReply> {
  const { output, include, nowMs } = answer;
  const definition = answer.columned ?? answer.definition;
  const { form } = output;
  // A Status is a Status in every form.
  if (form.as === 'object' || object.kind === 'Status') return textReply(answer, json);
  if (form.as === 'partial') return textReply(answer, partialJson(object, form.version));
  const row = rowJson({ definition, version: form.version, include }, object, json, nowMs);
  const meta = `{"resourceVersion":${JSON.stringify(object.metadata.resourceVersion ?? '')}}`;
  return textReply(answer, `{"kind":"Table","apiVersion":"meta.k8s.io/${form.version}","metadata":${meta},"columnDefinitions":${columnDefinitionsJson(definition)},"rows":[${row}]}`);
}

/** Any other value that is an answer of its own. */
export async function valueReply(answer: Pick<Answer, 'status' | 'output'>, value: object): Promise<BodyReply> {
  return textReply(answer, JSON.stringify(value));
}

/** How many characters of items are gathered into one piece: larger ones copy more, smaller ones are more writes. */
const pieceLength = 65_536;

/** A list's answer: the envelope and the items' own JSON, in pieces, never as one text. */
export async function listReply(answer: Answer, list: ServedList): Promise<BodyReply> {
  const { output, definition, include, nowMs } = answer;
  const { form } = output;
  const meta = JSON.stringify({
    resourceVersion: list.resourceVersion, ...(list.continue !== undefined && { continue: list.continue }), ...(list.remainingItemCount !== undefined && { remainingItemCount: list.remainingItemCount }),
  });
  const pieces = new Pieces();
  if (form.as === 'object') {
    pieces.add(`{"kind":"${definition.type.kind}List","apiVersion":"${apiVersionOf(definition.type)}","metadata":${meta},"items":[`);
    // Lists leave out what they say of all their items.
    pieces.addAll(list.items, ({ json }) => json);
  } else if (form.as === 'partial') {
    pieces.add(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${form.version}","metadata":${meta},"items":[`);
    pieces.addAll(list.items, ({ object }) => partialJson(object, form.version));
  } else {
    pieces.add(`{"kind":"Table","apiVersion":"meta.k8s.io/${form.version}","metadata":${meta},"columnDefinitions":${columnDefinitionsJson(definition)},"rows":[`);
    pieces.addAll(list.items, ({ object, json }) => rowJson({ definition, version: form.version, include }, object, json, nowMs));
  }
  pieces.add(']}\n');
  return piecesReply(answer, pieces.list);
}

class Pieces {
  readonly list: string[] = [];
  #open = '';

  add(text: string): void {
    this.#open += text;
    if (this.#open.length >= pieceLength) this.#close();
    if (text.endsWith('\n')) this.#close();
  }

  addAll(items: readonly Served[], write: (item: Served) => string): void {
    let isFirst = true;
    for (const item of items) {
      this.#open += isFirst ? write(item) : `,${write(item)}`;
      isFirst = false;
      if (this.#open.length >= pieceLength) this.#close();
    }
  }

  #close(): void {
    if (this.#open !== '') this.list.push(this.#open);
    this.#open = '';
  }
}

const contentTypes = { json: 'application/json', yaml: 'application/yaml' } as const;

async function textReply({ status, output }: Pick<Answer, 'status' | 'output'>, json: string): Promise<BodyReply> {
  const headers = { 'content-type': contentTypes[output.encoding] };
  if (output.encoding === 'yaml') return { kind: 'body', status, headers, body: await writeYaml(JSON.parse(json)) };
  return { kind: 'body', status, headers, body: output.pretty ? `${JSON.stringify(JSON.parse(json), undefined, 2)}\n` : `${json}\n` };
}

async function piecesReply(answer: Answer, pieces: readonly string[]): Promise<BodyReply> {
  const { status, output } = answer;
  if (output.encoding === 'yaml' || output.pretty) return textReply(answer, pieces.join(''));
  return { kind: 'body', status, headers: { 'content-type': contentTypes.json }, body: pieces };
}
