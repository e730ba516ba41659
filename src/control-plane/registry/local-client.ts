import type {
  ApiClient,
  DeleteOptions,
  GetOptions,
  Patch,
  PatchOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../api/client/api-client.ts';
import { apiVersionOf } from '../../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../api/client/resource-type.ts';
import { notFound } from '../../api/status/api-status-error.ts';
import { forbiddenRequest } from '../model/forbidden-request.ts';
import type { RequestContext } from '../model/request-context.ts';
import type { AuthorizationAttributes, AuthorizationDecision, UserInfo } from '../model/user-info.ts';
import type { DefinitionIndex } from './definition-index.ts';
import type { LeaderTerm } from './leader-term.ts';
import { createPushedEvents } from './read/pushed-events.ts';
import type { Registry, ResourceRequest, Served } from './registry.ts';

export interface LocalClientOptions {
  readonly registry: Registry;
  readonly definitions: DefinitionIndex;
  readonly user: UserInfo;
  readonly authorize: (attributes: AuthorizationAttributes) => AuthorizationDecision | Promise<AuthorizationDecision>;
  /** The default field manager of writes. */
  readonly fieldManager: string;
  /** The leader's term, for callers that may write only while this process leads. */
  readonly term?: LeaderTerm | undefined;
}

/**
 * Creates an API client for callers in this process, with the rights of one user. It needs no sockets and no
 * serialization, but the same rules apply. It returns objects of the cache, which are shared and must not be changed.
 */
export function createLocalClient(options: LocalClientOptions): ApiClient {
  return new LocalClient(options);
}

interface Asked {
  readonly verb: string;
  readonly type: ResourceType;
  readonly key: ObjectKey;
  readonly subresource?: string;
  readonly write?: PatchOptions;
}

class LocalClient implements ApiClient {
  readonly #options: LocalClientOptions;

  constructor(options: LocalClientOptions) {
    this.#options = options;
  }

  async get<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { subresource = '', ...options }: GetOptions = {},
  ): Promise<T> {
    const request = await this.#request({ verb: 'get', type, key, subresource });
    return shown(await this.#options.registry.get(request, options));
  }

  async list<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: Parameters<ApiClient['list']>[2] = {},
  ): Promise<{ items: readonly T[]; resourceVersion: string; continue?: string }> {
    const list = await this.#options.registry.list(
      await this.#request({ verb: 'list', type, key: { namespace, name: '' } }),
      options,
    );
    return {
      items: list.items.map((item) => shown<T>(item)),
      resourceVersion: list.resourceVersion,
      ...(list.continue !== undefined && { continue: list.continue }),
    };
  }

  watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    return createPushedEvents<WatchEvent<T>>(signal, async (push, end) => {
      const request = await this.#request({ verb: 'watch', type, key: { namespace, name: '' } });
      const watch = await this.#options.registry.watch(request, options, {
        event: (event, served) => push({ type: event, object: shown<T>(served) }),
        bookmark: (resourceVersion, initialEventsEnd) => push({ type: 'BOOKMARK', resourceVersion, initialEventsEnd }),
        end: (error) => {
          if (error !== undefined) push({ type: 'ERROR', error });
          end();
        },
      });
      return () => watch.close();
    });
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const request = await this.#request({
      verb: 'create',
      type,
      key: { namespace: object.metadata.namespace, name: '' },
      write: options,
    });
    return shown(await this.#options.registry.create(request, { value: object, duplicates: [] }));
  }

  async update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<T> {
    const { namespace, name } = object.metadata;
    const request = await this.#request({
      verb: 'update',
      type,
      key: { namespace, name },
      subresource: options.subresource ?? '',
      write: options,
    });
    return shown(await this.#options.registry.update(request, { value: object, duplicates: [] }));
  }

  async patch<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const request = await this.#request({
      verb: 'patch',
      type,
      key,
      subresource: options.subresource ?? '',
      write: options,
    });
    // An apply configuration needs apiVersion and kind; here the type supplies them.
    const value =
      patch.type === 'apply' ? { apiVersion: apiVersionOf(type), kind: type.kind, ...patch.body } : patch.body;
    return shown(await this.#options.registry.patch(request, { type: patch.type, value, duplicates: [] }));
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await this.#options.registry.delete(await this.#request({ verb: 'delete', type, key }), options);
  }

  async post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown> {
    const request = await this.#request({ verb: 'create', type, key, subresource });
    return (await this.#options.registry.create(request, { value: body, duplicates: [] })).object;
  }

  async #request({ verb, type, key, subresource = '', write = {} }: Asked): Promise<ResourceRequest> {
    const { definitions, user, authorize, fieldManager, term } = this.#options;
    const definition = definitions.byType(type);
    if (definition === undefined) throw notFound(type, key.name);
    const { group: apiGroup, version: apiVersion, plural: resource } = type;
    const attributes: AuthorizationAttributes = {
      user,
      verb,
      resourceRequest: true,
      apiGroup,
      apiVersion,
      resource,
      subresource,
      namespace: key.namespace,
      name: key.name,
      path: '',
    };
    const decided = await authorize(attributes);
    if (decided.decision !== 'allow') throw forbiddenRequest(attributes, decided);
    const context: RequestContext = {
      user,
      dryRun: write.dryRun ?? false,
      fieldManager: write.fieldManager ?? fieldManager,
      fieldValidation: 'Strict',
      // Controllers do not wait for initializers. They see the object once it is initialized.
      takesUninitialized: true,
      ...(write.force !== undefined && { force: write.force }),
      warn: () => undefined,
      annotate: () => undefined,
    };
    return { definition, namespace: key.namespace, name: key.name, subresource, context, term };
  }
}

/** Casts the object to its type, which the requested kind determines. */
function shown<T extends ApiObject>(served: Served): T {
  return served.object as T;
}
