import { StringDecoder } from 'node:string_decoder';
import { ApiStatusError, apiErrorFromStatus } from '../../../api/status/api-status-error.ts';
import type { Status } from '../../../api/status/status.ts';
import { errorMessage } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json-record.ts';
import { LineSplitter } from '../../../base/line-splitter.ts';
import { parseJsonQuietly } from '../../../base/quiet-parse.ts';
import type { UserInfo } from '../../model/user-info.ts';
import type { ApiBackend } from '../../model/api-backends.ts';
import { askBackend, BackendRefusal, readBackend } from './ask-backend.ts';
import type { BackendApisParts, GroupVersion } from './backend-apis.ts';
import { checkMetadata } from './checked-metadata.ts';
import { ACCEPT_METADATA, ACCEPT_METADATA_LIST } from './metadata-forms.ts';

/** The maximum number of objects of one kind that a client holds. */
const MOST_OBJECTS = 50_000;
/** The maximum number of objects in a page; the reflector asks for more. Metadata may be large too. */
const MOST_ON_PAGE = 100;
/** The maximum length of an event, in UTF-16 units. */
const LINE_LIMIT = 1024 * 1024;

interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

/**
 * The transport of a client for one kind of the server behind an APIService. It returns checked metadata, of at most
 * `MOST_OBJECTS` objects, and nothing else of objects. Every failure is an `ApiStatusError`.
 */
export class MetadataTransport {
  readonly #parts: BackendApisParts;
  readonly #api: GroupVersion;
  readonly #user: UserInfo;
  /** The number of objects that the client holds, by what it was sent. */
  #held = 0;

  constructor(parts: BackendApisParts, api: GroupVersion, user: UserInfo) {
    this.#parts = parts;
    this.#api = api;
    this.#user = user;
  }

  async send({ method, path, body, contentType = 'application/json' }: TransportRequest): Promise<unknown> {
    const [bare = '', query = ''] = path.split('?');
    const parameters = new URLSearchParams(query);
    const isList = method === 'GET' && parameters.has('limit');
    if (Number(parameters.get('limit')) > MOST_ON_PAGE) parameters.set('limit', String(MOST_ON_PAGE));
    try {
      const text = await askBackend(this.#parts, this.#backend(), isList ? `${bare}?${parameters.toString()}` : path, {
        user: this.#user,
        method,
        accept: isList ? ACCEPT_METADATA_LIST : ACCEPT_METADATA,
        ...(body !== undefined && { body: { text: JSON.stringify(body), contentType } }),
      });
      // The response to a deletion may be a Status or the object.
      if (method === 'DELETE') return undefined;
      const value = parseJsonQuietly(text);
      if (!isList) return { metadata: checkMetadata(value) };
      if (!parameters.has('continue')) this.#held = 0;
      return this.#checkList(value);
    } catch (error) {
      throw apiErrorOf(error);
    }
  }

  /** The events of a watch until it ends. */
  async *stream(path: string, signal: AbortSignal, onOpen?: () => void): AsyncGenerator<unknown> {
    // Servers may ignore this parameter, and then never send the end of the initial events.
    if (new URLSearchParams(path.split('?')[1]).has('sendInitialEvents'))
      throw new ApiStatusError('Invalid', 'lists of aggregated servers are not streamed');
    const question = { user: this.#user, accept: ACCEPT_METADATA, path, signal, onOpen: onOpen ?? (() => undefined) };
    try {
      for await (const line of linesOf(readBackend(this.#parts, this.#backend(), question)))
        yield this.#checkEvent(parseJsonQuietly(line));
    } catch (error) {
      throw apiErrorOf(error);
    }
  }

  /** Calls the listener when the server becomes available. */
  onReturn(listener: (why: 'answers') => void): () => void {
    let wasAvailable = this.#find()?.isAvailable === true;
    return this.#parts.backends.onChange(() => {
      const isAvailable = this.#find()?.isAvailable === true;
      if (isAvailable && !wasAvailable) listener('answers');
      wasAvailable = isAvailable;
    });
  }

  #find(): ApiBackend | undefined {
    return this.#parts.backends.find(this.#api.group, this.#api.version);
  }

  #backend(): ApiBackend {
    const backend = this.#find();
    if (backend === undefined) throw new Error('the server could not find the requested resource');
    if (!backend.isAvailable) throw new Error('the server is currently unable to handle the request');
    return backend;
  }

  #checkList(value: unknown): object {
    const items = isRecord(value) ? value['items'] : undefined;
    const metadata = isRecord(value) ? value['metadata'] : undefined;
    if (!Array.isArray(items) || !isRecord(metadata)) throw new Error('the answer is not a list');
    const { resourceVersion, continue: next } = metadata;
    if (typeof resourceVersion !== 'string') throw new Error('the list has no resourceVersion');
    this.#hold(items.length);
    return {
      metadata: { resourceVersion, ...(typeof next === 'string' && { continue: next }) },
      items: items.map((each) => ({ metadata: checkMetadata(each) })),
    };
  }

  #checkEvent(value: unknown): object {
    const { type, object } = isRecord(value) ? value : {};
    if (type === 'ERROR') return { type, object: checkStatus(object, 500) };
    if (type === 'BOOKMARK') return { type, object: checkBookmark(object) };
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') throw new Error('an event has no valid type');
    if (type === 'ADDED') this.#hold(1);
    if (type === 'DELETED') this.#held--;
    return { type, object: { metadata: checkMetadata(object) } };
  }

  #hold(more: number): void {
    this.#held += more;
    if (this.#held > MOST_OBJECTS) throw new Error(`there are more than ${MOST_OBJECTS} objects`);
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  const lines = new LineSplitter();
  for await (const chunk of chunks) {
    const whole = lines.push(decoder.write(chunk));
    if (lines.heldLength > LINE_LIMIT) throw new Error(`an event has more than ${LINE_LIMIT} characters`);
    for (const line of whole) if (line !== '') yield line;
  }
}

/** A bookmark carries only a version. */
function checkBookmark(object: unknown): object {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {};
  const { resourceVersion } = metadata;
  if (typeof resourceVersion !== 'string') throw new Error('a bookmark has no resourceVersion');
  return { metadata: { resourceVersion } };
}

/** The fields of the server's Status that are used. `details.name` says which object a NotFound is about. */
function checkStatus(status: unknown, code: number): Status {
  const { message, reason, details } = isRecord(status) ? status : {};
  const { name, retryAfterSeconds } = isRecord(details) ? details : {};
  return {
    kind: 'Status',
    apiVersion: 'v1',
    code: isRecord(status) && typeof status['code'] === 'number' ? status['code'] : code,
    ...(typeof message === 'string' && { message }),
    ...(typeof reason === 'string' && { reason }),
    details: {
      ...(typeof name === 'string' && { name }),
      ...(typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0 && { retryAfterSeconds }),
    },
  };
}

/** A path that the server does not serve says nothing about objects, so NotFound must name an object. */
function apiErrorOf(error: unknown): ApiStatusError {
  if (error instanceof ApiStatusError) return error;
  const refusal = error instanceof Error ? error.cause : undefined;
  if (!(refusal instanceof BackendRefusal))
    return new ApiStatusError('ServiceUnavailable', errorMessage(error), undefined, { cause: error });
  const refused = apiErrorFromStatus({
    message: refusal.message,
    ...checkStatus(parsed(refusal.body), refusal.status),
  });
  const saysNothing = refused.reason === 'NotFound' && (refused.details?.name ?? '') === '';
  return saysNothing ? new ApiStatusError('ServiceUnavailable', refused.message) : refused;
}

function parsed(text: string): unknown {
  try {
    return parseJsonQuietly(text);
  } catch {
    return undefined;
  }
}
