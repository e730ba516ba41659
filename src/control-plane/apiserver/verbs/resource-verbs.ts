import type { Clock } from '../../../base/clock.ts';
import { processorMs } from '../../../base/turn-share.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { RequestContext } from '../../model/request-context.ts';
import { deleteOptionsFromProtobuf } from '../../registry/write/delete-options.ts';
import type { Registry, ResourceRequest, Served } from '../../registry/registry.ts';
import { parseBody, bodyEncodingOf } from '../body/parse-body.ts';
import { headerOf } from '../http/http-request.ts';
import type { Reply } from '../http/reply.ts';
import { listReply, objectReply } from '../output/encode.ts';
import type { Answer } from '../output/encode.ts';
import { answeredKind, hasMessage } from '../output/messages.ts';
import type { ObjectMessages } from '../output/messages.ts';
import { isTrue, negotiate } from '../output/negotiate.ts';
import { parseIncludeObject } from '../output/table.ts';
import type { Columned } from '../output/table.ts';
import { addWarning } from '../path/exchange.ts';
import type { Exchange } from '../path/exchange.ts';
import type { ServedResource } from '../path/served-resource.ts';
import type { TextTasks } from '../texts/text-tasks.ts';
import { parseDeleteOptions } from './delete-options.ts';
import { parseListOptions } from './list-options.ts';
import { parseWriteQuery, patchTypeOf } from './write-options.ts';
import type { WriteQuery } from './write-options.ts';

export interface VerbOptions {
  readonly registry: Registry;
  readonly maxBodyBytes: number;
  readonly clock: Clock;
  readonly texts: TextTasks;
  readonly messages: ObjectMessages;
}

const reading: WriteQuery = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore' };

/** All verbs except watches and connects. The resource and its verb are known to exist. */
export class ResourceVerbs {
  readonly #options: VerbOptions;

  constructor(options: VerbOptions) {
    this.#options = options;
  }

  async get(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 200);
    const resourceVersion = exchange.query.get('resourceVersion');
    const served = await this.#options.registry.get(resourceRequest(exchange, definition, reading), {
      ...(resourceVersion !== null && resourceVersion !== '' && { resourceVersion }),
    });
    return this.#object(exchange, answer, served);
  }

  async list(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 200);
    const options = parseListOptions(exchange.query, exchange.info);
    const request = resourceRequest(exchange, definition, reading);
    return listReply(answer, await this.#options.registry.list({ ...request, name: '' }, options));
  }

  async create(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 201);
    const encoding = bodyEncodingOf(headerOf(exchange.http.headers, 'content-type'));
    const query = parseWriteQuery(exchange.query, 'CreateOptions');
    const body = await this.#body(exchange, definition, { encoding, query });
    const created = await this.#options.registry.create(resourceRequest(exchange, definition, query), body);
    return this.#object(exchange, answer, created);
  }

  async update(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 200);
    const encoding = bodyEncodingOf(headerOf(exchange.http.headers, 'content-type'));
    const query = parseWriteQuery(exchange.query, 'UpdateOptions');
    const body = await this.#body(exchange, definition, { encoding, query });
    const written = await this.#options.registry.update(resourceRequest(exchange, definition, query), body);
    return this.#object(exchange, written.created ? { ...answer, status: 201 } : answer, written);
  }

  async patch(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const type = patchTypeOf(headerOf(exchange.http.headers, 'content-type'));
    const answer = this.#answer(exchange, { definition }, 200);
    const query = parseWriteQuery(exchange.query, 'PatchOptions', type);
    const body = await this.#body(exchange, definition, { encoding: type === 'apply' ? 'yaml' : 'json', query });
    const written = await this.#options.registry.patch(resourceRequest(exchange, definition, query), { ...body, type });
    return this.#object(exchange, written.created ? { ...answer, status: 201 } : answer, written);
  }

  /** Returns the object if it still exists or the kind always returns it, otherwise a Status. */
  async delete(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 200);
    const options = await this.#deleteOptions(exchange);
    const query: WriteQuery = { ...reading, dryRun: options.dryRun !== undefined };
    const { object, json, gone } = await this.#options.registry.delete(
      resourceRequest(exchange, definition, query),
      options,
    );
    if (!gone || definition.rules.returnsDeleted === true)
      return this.#object(
        exchange,
        { ...answer, status: !gone && options.orphanDependents === false ? 202 : 200 },
        { object, json },
      );
    return objectReply(answer, { object, json: JSON.stringify(object) });
  }

  async deleteCollection(exchange: Exchange, { definition }: ServedResource): Promise<Reply> {
    const answer = this.#answer(exchange, { definition }, 200);
    const selection = parseListOptions(exchange.query, exchange.info);
    const options = await this.#deleteOptions(exchange);
    const query: WriteQuery = { ...reading, dryRun: options.dryRun !== undefined };
    return listReply(
      answer,
      await this.#options.registry.deleteCollection(resourceRequest(exchange, definition, query), selection, options),
    );
  }

  /** The body of a write, decoded; the audit log has it too. */
  async #body(
    exchange: Exchange,
    definition: ResourceDefinition,
    { encoding, query }: { readonly encoding: ReturnType<typeof bodyEncodingOf>; readonly query: WriteQuery },
  ): Promise<Awaited<ReturnType<typeof parseBody>>> {
    const { maxBodyBytes, texts } = this.#options;
    const bytes = await exchange.http.readBody(maxBodyBytes);
    const { fieldValidation } = query;
    const body = await parseBody({ bytes, encoding, fieldValidation, kind: bodyKind(exchange, definition), texts });
    if (exchange.audited !== undefined) exchange.audited.requestObject = body.value;
    return body;
  }

  async #deleteOptions(exchange: Exchange): Promise<ReturnType<typeof parseDeleteOptions>> {
    const bytes = await exchange.http.readBody(this.#options.maxBodyBytes);
    if (bytes.length === 0) return parseDeleteOptions(exchange.query, undefined);
    const encoding = bodyEncodingOf(headerOf(exchange.http.headers, 'content-type'));
    const body = await parseBody({
      bytes,
      encoding,
      fieldValidation: 'Ignore',
      kind: 'DeleteOptions',
      texts: this.#options.texts,
    });
    const value = body.protobuf === undefined ? body.value : deleteOptionsFromProtobuf(body.protobuf);
    if (exchange.audited !== undefined) exchange.audited.requestObject = value;
    return parseDeleteOptions(exchange.query, value);
  }

  #answer(exchange: Exchange, { definition }: Pick<ServedResource, 'definition'>, status: number): Answer {
    const output = outputOf(exchange, definition);
    const columned = columnedOf(exchange, definition);
    return {
      status,
      output,
      definition,
      ...(columned !== undefined && { columned }),
      answered: answeredKind(definition, exchange.info.subresource),
      messages: this.#options.messages,
      include: output.form.as === 'table' ? parseIncludeObject(exchange.query.get('includeObject')) : 'Metadata',
      nowMs: this.#options.clock.nowMs(),
      workedMs: processorMs,
      texts: this.#options.texts,
      isAbandoned: () => exchange.http.isFinished,
    };
  }

  #object(exchange: Exchange, answer: Answer, served: Served): Promise<Reply> {
    exchange.answeredName = served.object.metadata?.name;
    if (exchange.audited !== undefined) exchange.audited.responseObject = served.json;
    return objectReply(answer, served);
  }
}

/** Pretty-printed JSON for browsers and curl, and on request. */
export function outputOf(exchange: Exchange, definition: ResourceDefinition): ReturnType<typeof negotiate> {
  const pretty = exchange.query.get('pretty');
  const view = definition.views?.find(({ name }) => name === exchange.info.subresource);
  return negotiate(headerOf(exchange.http.headers, 'accept'), isTrue(pretty), {
    tables: definition.review === undefined,
    messages: view?.schema !== undefined || hasMessage(definition),
  });
}

const nameless: Columned = {};

/** A subresource may return another kind, which does not have the columns of its parent. */
function columnedOf(
  { info: { subresource } }: Exchange,
  { views, actions }: ServedResource['definition'],
): Columned | undefined {
  if (subresource === '') return undefined;
  const view = views?.find(({ name }) => name === subresource);
  if (view?.kind !== undefined) return view;
  return actions?.some(({ name }) => name === subresource) === true ? nameless : undefined;
}

function bodyKind(exchange: Exchange, definition: ServedResource['definition']): string {
  const { subresource } = exchange.info;
  const view = definition.views?.find((each) => each.name === subresource);
  const action = definition.actions?.find((each) => each.name === subresource);
  return view?.kind?.kind ?? action?.kind.kind ?? definition.type.kind;
}

export function resourceRequest(
  exchange: Exchange,
  definition: ServedResource['definition'],
  query: WriteQuery,
): ResourceRequest {
  const { info } = exchange;
  // A namespace is cluster-scoped, although its path contains a namespace.
  const namespace = definition.type.namespaced ? info.namespace : '';
  return {
    definition,
    namespace,
    name: info.name,
    subresource: info.subresource,
    context: requestContext(exchange, query),
  };
}

function requestContext(
  exchange: Exchange,
  { dryRun, fieldManager, fieldValidation, force, takesUninitialized }: WriteQuery,
): RequestContext {
  return {
    user: exchange.user,
    dryRun,
    fieldManager: fieldManager === '' ? managerOf(headerOf(exchange.http.headers, 'user-agent')) : fieldManager,
    fieldValidation,
    ...(force !== undefined && { force }),
    ...(takesUninitialized !== undefined && { takesUninitialized }),
    warn: (text) => addWarning(exchange, text),
    annotate: (key, value) => void (exchange.annotations[key] = value),
  };
}

/**
 * The default field manager: the user agent up to its first slash, without what cannot be printed, 128 characters at
 * most.
 */
function managerOf(userAgent: string | undefined): string {
  const name = (userAgent ?? '').split('/', 1)[0] ?? '';
  const printable = name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '');
  return printable.length > 128 ? printable.slice(0, 128) : printable === '' ? 'unknown' : printable;
}
