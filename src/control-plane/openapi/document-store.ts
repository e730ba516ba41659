import { createHash } from 'node:crypto';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { PackedBytes } from '../../base/packed-bytes.ts';
import { nextTurn } from '../../base/turn.ts';
import { noBackends } from '../model/api-backends.ts';
import type { ApiBackends } from '../model/api-backends.ts';
import type { Definitions } from '../model/definitions.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { DocumentPart } from './document-part.ts';
import type { PartOfV2 } from './document-part.ts';
import { backendRoots, foreignParts } from './foreign-parts.ts';
import type { ForeignPart } from './foreign-parts.ts';
import { groupVersionName, groupVersionsOf } from './group-versions.ts';
import { TextOfV3 } from './text-of-v3.ts';
import type { OpenApiDocument, OpenApiDocuments } from './served-document.ts';

const JSON_TYPE = 'application/json';
/** The sent content types. The first name, with `@`, is not a valid media type, but older clients request it. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const protobufNames: readonly string[] = ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', PROTOBUF_TYPE];

/** Creates the store. Documents are built at the first request, and again after their kinds have changed. */
export function documentStore(
  definitions: Definitions,
  version: string,
  backends: ApiBackends = noBackends,
): OpenApiDocuments['get'] {
  const store = new DocumentStore(definitions, version, backends);
  return async ({ path, accept, query }) => {
    store.follow();
    if (path === '/openapi/v2') {
      const form = acceptedForm(accept, [JSON_TYPE, ...protobufNames]);
      return form === JSON_TYPE ? store.v2() : store.v2Protobuf();
    }
    if (path !== '/openapi/v3' && path !== '/openapi/v3/' && !store.has(path.slice('/openapi/v3/'.length)))
      return undefined;
    acceptedForm(accept, [JSON_TYPE]);
    if (path === '/openapi/v3' || path === '/openapi/v3/') return store.root();
    const packed = await store.groupVersion(path.slice('/openapi/v3/'.length));
    const document = await packed.unpack();
    // A request with the current hash may be cached; another hash gets the current content without caching.
    return query?.get('hash') === document.etag.slice(1, -1)
      ? { ...document, cacheControl: 'public, immutable' }
      : document;
  };
}

const comma = Buffer.from(',');

/** The name of the part with the built-in kinds. */
const BUILT_IN = '';
const partOf = (definition: ResourceDefinition): string =>
  definition.openApi === undefined ? BUILT_IN : `${groupVersionName(definition.type)}/${definition.type.plural}`;

class DocumentStore {
  readonly #definitions: Definitions;
  readonly #version: string;
  readonly #backends: ApiBackends;
  #generation = -1;
  readonly #parts = new Map<string, DocumentPart>();
  readonly #made = new Map<string, PackedDocument>();
  readonly #making = new Map<string, Promise<PackedDocument>>();
  readonly #wholes = new Map<string, { readonly body: WeakRef<Buffer>; readonly etag: string }>();
  /** The number of changes after which all documents were dropped. */
  #changes = 0;
  #members: ReadonlyMap<string, readonly ResourceDefinition[]> | undefined;

  constructor(definitions: Definitions, version: string, backends: ApiBackends) {
    this.#backends = backends;
    this.#definitions = definitions;
    this.#version = version;
    definitions.onChange(({ removed, added }) => {
      this.#members = undefined;
      this.#forgetWhole();
      for (const definition of [...removed, ...added]) {
        this.#parts.delete(partOf(definition));
        this.#forget(`3/${groupVersionName(definition.type)}`);
      }
    });
  }

  /** Rebuilds documents with parts of other servers when those change. */
  follow(): void {
    if (this.#generation === this.#backends.generation) return;
    this.#generation = this.#backends.generation;
    this.#forgetWhole();
  }

  #forgetWhole(): void {
    this.#changes++;
    this.#forget('3');
    this.#wholes.clear();
  }

  has(name: string): boolean {
    return this.#definitions.all.some((each) => each.isInternal !== true && groupVersionName(each.type) === name);
  }

  groupVersion(name: string): Promise<PackedDocument> {
    return this.#once(`3/${name}`, async () => {
      const [, group = '', of = ''] = name.startsWith('api/') ? ['', '', name.slice('api/'.length)] : name.split('/');
      const text = new TextOfV3();
      for (const [part, members] of this.#partNames()) {
        if (!members.some(({ type }) => groupVersionName(type) === name)) continue;
        text.add(this.#part(part).v3({ group, version: of }));
        await nextTurn();
      }
      return documentOf(text.chunks());
    });
  }

  async root(): Promise<OpenApiDocument> {
    const packed = await this.#once('3', async () => {
      const paths: Record<string, object> = {};
      for (const name of groupVersionsOf(this.#definitions)) {
        const { etag } = await this.groupVersion(name);
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${etag.slice(1, -1)}` };
      }
      return documentOf([JSON.stringify({ paths: { ...paths, ...backendRoots(this.#backends) } })]);
    });
    return packed.unpack();
  }

  async v2(): Promise<OpenApiDocument> {
    return this.#whole('2', JSON_TYPE, async () => {
      const parts: PartOfV2[] = await this.#inTurns((part) => part.v2());
      parts.push(...(await this.#foreign()).map(({ v2 }) => v2));
      const joined = (of: 'paths' | 'definitions'): readonly Uint8Array[] =>
        parts
          .map((part) => part[of].bytes)
          .filter(({ length }) => length > 0)
          .flatMap((bytes, index) => (index === 0 ? [bytes] : [comma, bytes]));
      const head = JSON.stringify(this.#part(BUILT_IN).v2().head).slice(0, -1);
      return [
        Buffer.from(`${head},"paths":{`),
        ...joined('paths'),
        Buffer.from('},"definitions":{'),
        ...joined('definitions'),
        Buffer.from('}}'),
      ];
    });
  }

  async v2Protobuf(): Promise<OpenApiDocument> {
    return this.#whole('2+protobuf', PROTOBUF_TYPE, async () => {
      const parts = await this.#inTurns((part, isFirst) => part.v2Protobuf(isFirst));
      if (this.#backends.all.length > 0) await this.#inTurns((part) => part.v2());
      return [...parts, ...(await this.#foreign()).map(({ protobuf }) => protobuf)].map(({ bytes }) => bytes);
    });
  }

  /** Returns the parts of other servers. Types that this server describes too are the same there. */
  #foreign(): Promise<readonly ForeignPart[]> {
    return foreignParts(this.#backends, new Set(this.#allParts().flatMap((part) => [...part.v2().names])));
  }

  /** Builds every part in its own turn of the event loop. */
  async #inTurns<T>(make: (part: DocumentPart, isFirst: boolean) => T): Promise<T[]> {
    const made: T[] = [];
    for (const [index, part] of this.#allParts().entries()) {
      made.push(make(part, index === 0));
      await nextTurn();
    }
    return made;
  }

  #allParts(): readonly DocumentPart[] {
    return [...this.#partNames().keys()].map((name) => this.#part(name));
  }

  /** Built-in kinds come first. */
  #partNames(): ReadonlyMap<string, readonly ResourceDefinition[]> {
    if (this.#members === undefined) {
      const members = new Map<string, ResourceDefinition[]>([[BUILT_IN, []]]);
      for (const definition of this.#definitions.all) {
        if (definition.isInternal === true) continue;
        const name = partOf(definition);
        members.set(name, [...(members.get(name) ?? []), definition]);
      }
      this.#members = members;
    }
    return this.#members;
  }

  #part(name: string): DocumentPart {
    let part = this.#parts.get(name);
    if (part === undefined) {
      const base = name === BUILT_IN ? undefined : this.#part(BUILT_IN);
      part = new DocumentPart(this.#partNames().get(name) ?? [], this.#version, base);
      this.#parts.set(name, part);
    }
    return part;
  }

  /** Builds a document, which concurrent readers share. It is not kept if its kinds changed meanwhile. */
  async #once(key: string, make: () => Promise<PackedDocument>): Promise<PackedDocument> {
    const known = this.#made.get(key) ?? this.#making.get(key);
    if (known !== undefined) return known;
    const making = make();
    this.#making.set(key, making);
    try {
      const document = await making;
      if (this.#making.get(key) === making) this.#made.set(key, document);
      return document;
    } finally {
      if (this.#making.get(key) === making) this.#making.delete(key);
    }
  }

  #forget(key: string): void {
    this.#made.delete(key);
    this.#making.delete(key);
  }

  /**
   * Returns a document of everything. It is large and its parts are kept, so it is joined again if no reader holds it.
   */
  async #whole(key: string, contentType: string, make: () => Promise<readonly Uint8Array[]>): Promise<OpenApiDocument> {
    const known = this.#wholes.get(key);
    const held = known?.body.deref();
    if (known !== undefined && held !== undefined) return { contentType, body: held, etag: known.etag };
    const { chunks, generation } = { generation: this.#changes, chunks: await make() };
    const body = Buffer.concat(chunks);
    const etag = known?.etag ?? (await hashInTurns(chunks));
    // After a change meanwhile, the answer is as old as the request and is not kept.
    if (generation === this.#changes) this.#wholes.set(key, { body: new WeakRef(body), etag });
    return { contentType, body, etag };
  }
}

/** A JSON document, compressed piece by piece. */
class PackedDocument {
  readonly etag: string;
  readonly #pieces: readonly PackedBytes[];

  constructor(pieces: readonly PackedBytes[], etag: string) {
    this.etag = etag;
    this.#pieces = pieces;
  }

  /** Decompresses each piece in a turn of its own: a group may have hundreds of large kinds. */
  async unpack(): Promise<OpenApiDocument> {
    const unpacked: Uint8Array[] = [];
    for (const { bytes } of this.#pieces) {
      unpacked.push(bytes);
      await nextTurn();
    }
    return { contentType: JSON_TYPE, body: Buffer.concat(unpacked), etag: this.etag };
  }
}

/** Compresses and hashes each piece in a turn of its own. */
async function documentOf(chunks: readonly string[]): Promise<PackedDocument> {
  const hash = createHash('sha512');
  const pieces: PackedBytes[] = [];
  for (const chunk of chunks) {
    hash.update(chunk);
    pieces.push(new PackedBytes(chunk));
    await nextTurn();
  }
  return new PackedDocument(pieces, `"${hash.digest('hex').toUpperCase()}"`);
}

async function hashInTurns(chunks: readonly Uint8Array[]): Promise<string> {
  const hash = createHash('sha512');
  for (const chunk of chunks) {
    hash.update(chunk);
    await nextTurn();
  }
  return `"${hash.digest('hex').toUpperCase()}"`;
}

/** Selects the encoding by the client's order of preference. */
function acceptedForm(accept: string | undefined, forms: readonly string[]): string {
  const first = forms[0] ?? JSON_TYPE;
  if (accept === undefined || accept.trim() === '') return first;
  const clauses = accept.split(',').map((clause, place) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return { type: type.toLowerCase(), weight: Number.isNaN(weight) ? 1 : weight, place };
  });
  for (const { type, weight } of clauses.sort((a, b) => b.weight - a.weight || a.place - b.place)) {
    if (weight === 0) continue;
    const form = type === '*/*' || type === 'application/*' ? first : forms.find((known) => known === type);
    if (form !== undefined) return form;
  }
  throw new ApiStatusError('NotAcceptable', `only the following media types are accepted: ${forms.join(', ')}`);
}
