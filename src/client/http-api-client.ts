import type {
  ApiClient,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ListResult,
  Patch,
  PatchOptions,
  ReturnListener,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../api/client/api-client.ts';
import { apiVersionOf } from '../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../api/client/resource-type.ts';
import type { ObjectMeta } from '../api/core/meta.ts';
import { apiErrorFromStatus } from '../api/status/api-status-error.ts';
import type { Status } from '../api/status/status.ts';
import type { ApiTransport } from './http-transport.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
const patchTypes: Record<Patch['type'], string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** The API over HTTP. Responses are trusted: the server has validated them. */
export class HttpApiClient implements ApiClient {
  readonly #transport: ApiTransport;

  constructor(transport: ApiTransport) {
    this.#transport = transport;
  }

  onReturn(listener: ReturnListener): () => void {
    return this.#transport.onReturn(listener);
  }

  async get<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { subresource, ...options }: GetOptions = {},
  ): Promise<T> {
    const path = objectPath(type, key, subresource) + query({ ...options });
    return whole<T>(await this.#transport.send({ method: 'GET', path }));
  }

  async list<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: ListOptions = {},
  ): Promise<ListResult<T>> {
    const list = (await this.#transport.send({
      method: 'GET',
      path: collectionPath(type, namespace) + query({ ...options }),
    })) as ListBody;
    const more = list.metadata?.continue;
    const kind = { kind: type.kind, apiVersion: apiVersionOf(type) };
    return {
      items: (list.items ?? []).map((item) => whole<T>({ ...kind, ...(item as object) })),
      resourceVersion: list.metadata?.resourceVersion ?? '',
      ...(more !== undefined && more !== '' && { continue: more }),
    };
  }

  async *watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const { allowBookmarks, sendInitialEvents, onOpen, ...rest } = options;
    const parameters = {
      watch: 'true',
      ...rest,
      ...(allowBookmarks !== undefined && { allowWatchBookmarks: String(allowBookmarks) }),
      ...(sendInitialEvents !== undefined && {
        sendInitialEvents: String(sendInitialEvents),
        resourceVersionMatch: 'NotOlderThan',
      }),
    };
    try {
      for await (const event of this.#transport.stream(
        collectionPath(type, namespace) + query(parameters),
        signal,
        onOpen,
      ))
        yield toEvent<T>(event);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return whole<T>(
      await this.#transport.send({
        method: 'POST',
        path: collectionPath(type, object.metadata.namespace) + writeQuery(options),
        body: bodyOf(type, object),
      }),
    );
  }

  async update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<T> {
    return whole<T>(
      await this.#transport.send({
        method: 'PUT',
        path: objectPath(type, object.metadata, options.subresource) + writeQuery(options),
        body: bodyOf(type, object),
      }),
    );
  }

  async patch<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const parameters = { ...(options.force !== undefined && { force: String(options.force) }) };
    const body =
      patch.type === 'apply' ? { apiVersion: apiVersionOf(type), kind: type.kind, ...patch.body } : patch.body;
    return whole<T>(
      await this.#transport.send({
        method: 'PATCH',
        path: objectPath(type, key, options.subresource) + writeQuery(options, parameters),
        body,
        contentType: patchTypes[patch.type],
      }),
    );
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await this.#transport.send({
      method: 'DELETE',
      path: objectPath(type, key),
      body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options },
    });
  }

  async post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown> {
    return this.#transport.send({ method: 'POST', path: objectPath(type, key, subresource), body });
  }
}

interface ListBody {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly unknown[];
}

function collectionPath(type: ResourceType, namespace: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  return `${root}${type.namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${type.plural}`;
}

function objectPath(type: ResourceType, { namespace, name }: ObjectKey, subresource = ''): string {
  return `${collectionPath(type, namespace)}/${encodeURIComponent(name)}${subresource === '' ? '' : `/${subresource}`}`;
}

function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

function writeQuery({ dryRun, fieldManager }: WriteOptions, others: Readonly<Record<string, string>> = {}): string {
  return query({
    ...(dryRun === true && { dryRun: 'All' }),
    ...(fieldManager !== undefined && { fieldManager }),
    ...others,
  });
}

/** Fields that are '' in memory are absent on the wire. */
function bodyOf(type: ResourceType, object: ApiObject): object {
  const { name, namespace, uid, ...rest } = object.metadata;
  const metadata = {
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    ...(uid !== '' && { uid }),
    ...rest,
  };
  return { ...object, kind: type.kind, apiVersion: apiVersionOf(type), metadata };
}

/** An object with the fields that its type requires: absent names become ''. */
function whole<T extends ApiObject>(value: unknown): T {
  const object = value as ApiObject;
  const metadata = object.metadata as Partial<ObjectMeta>;
  return {
    ...object,
    metadata: { ...metadata, name: metadata.name ?? '', namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' },
  } as T;
}

function toEvent<T extends ApiObject>(event: unknown): WatchEvent<T> {
  const { type, object } = event as { readonly type: string; readonly object: unknown };
  if (type === 'ERROR') return { type, error: apiErrorFromStatus(object as Status) };
  const shown = whole<T>(object);
  if (type !== 'BOOKMARK') return { type: type as 'ADDED' | 'MODIFIED' | 'DELETED', object: shown };
  return {
    type,
    resourceVersion: shown.metadata.resourceVersion ?? '',
    initialEventsEnd: shown.metadata.annotations?.[INITIAL_EVENTS_END] === 'true',
  };
}
